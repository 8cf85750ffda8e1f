package acp

import "reflect"

// OptionalSignature returns the signature that Check wants of an optional method.
func OptionalSignature(name string) (reflect.Type, bool) {
	for _, m := range optionalMethods(reflect.TypeFor[struct{}]()) {
		if m.name == name {
			return m.want, true
		}
	}
	return nil, false
}
