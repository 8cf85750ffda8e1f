package acp

// Members is a JSON object whose order matters, such as the fields of a form.
type Members[T any] []Member[T]

// Member is one name and value of [Members].
type Member[T any] struct {
	Name  string
	Value T
}

// Get returns the value of the named member.
func (m Members[T]) Get(name string) (T, bool) {
	for _, x := range m {
		if x.Name == name {
			return x.Value, true
		}
	}
	var none T
	return none, false
}

// structPtr is the pointer to a generated struct.
type structPtr[T any] interface {
	*T
	Message
}

func decodeStruct[T any, P structPtr[T]](d *decoder) (T, error) {
	var v T
	err := P(&v).decodeWire(d)
	return v, err
}

// decodeSlice reads an array. With skip, items that do not decode are left out and reported.
func decodeSlice[T any](d *decoder, skip bool, item func(*decoder) (T, error)) ([]T, error) {
	if err := d.openArray(); err != nil {
		return nil, err
	}
	s := []T{}
	for d.more() {
		at := d.i
		v, err := item(d)
		switch {
		case err == nil:
			s = append(s, v)
		case skip:
			d.lenient(at, err)
		default:
			return nil, err
		}
	}
	return s, nil
}

// forNext makes room for another struct: lists have one, or a few. The compiler knows better for smaller items.
func forNext[T any](s []T) []T {
	if len(s) == 1 && cap(s) == 1 {
		return append(make([]T, 0, 4), s[0])
	}
	return s
}

// decodeStructs is decodeSlice for structs, which are decoded where they will stay.
func decodeStructs[T any, P structPtr[T]](d *decoder, skip bool) ([]T, error) {
	if err := d.openArray(); err != nil {
		return nil, err
	}
	s := []T{}
	for d.more() {
		at, n := d.i, len(s)
		var zero T
		s = append(forNext(s), zero)
		if err := P(&s[n]).decodeWire(d); err != nil {
			if !skip {
				return nil, err
			}
			s = s[:n]
			d.lenient(at, err)
		}
	}
	return s, nil
}

func decodeMap[T any](d *decoder, item func(*decoder) (T, error)) (map[string]T, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	m := map[string]T{}
	for {
		name, ok := d.next()
		if !ok {
			return m, nil
		}
		key := string(name)
		v, err := item(d)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
}

func decodeOrdered[T any](d *decoder, item func(*decoder) (T, error)) (Members[T], error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	m := Members[T]{}
	for {
		name, ok := d.next()
		if !ok {
			return m, nil
		}
		key := string(name)
		v, err := item(d)
		if err != nil {
			return nil, err
		}
		m = append(m, Member[T]{key, v})
	}
}

// decodePairs reads an array of name and value objects, and takes an object of strings as well, which some clients send.
func decodePairs[T any, P structPtr[T]](d *decoder, pair func(name, value string) T) ([]T, error) {
	if d.b[d.i] != '{' {
		return decodeStructs[T, P](d, false)
	}
	at := d.i
	m, err := decodeOrdered(d, (*decoder).str)
	if err != nil {
		return nil, err
	}
	d.report(at, "an object was taken for an array of name and value pairs")
	s := make([]T, len(m))
	for i, x := range m {
		s[i] = pair(x.Name, x.Value)
	}
	return s, nil
}
