package acp

import "reflect"

// variant returns the variant of a union itself when v is a pointer to one, which a union's interface allows too.
// A nil pointer is returned as no variant at all.
func variant[T any](v T) T {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer {
		return v
	}
	if r.IsNil() {
		var none T
		return none
	}
	if value, ok := r.Elem().Interface().(T); ok {
		return value
	}
	return v
}
