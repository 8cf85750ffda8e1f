package acptest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// variables are what "$name" stands for in a script's JSON.
type variables map[string]jsontext.Value

// variable returns the name if a JSON string is exactly "$name".
func variable(raw jsontext.Value) (string, bool) {
	if len(raw) < 4 || raw[0] != '"' || raw[1] != '$' {
		return "", false
	}
	name := string(raw[2 : len(raw)-1])
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return "", false
		}
	}
	return name, true
}

// encode returns a value as JSON: a string, a byte slice and a jsontext.Value are JSON
// already, nil is nothing.
func encode(v any) (jsontext.Value, error) {
	var raw jsontext.Value
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		raw = jsontext.Value(v)
	case []byte:
		raw = bytes.Clone(v)
	case jsontext.Value:
		raw = v.Clone()
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode %T: %w", v, err)
		}
		return b, nil
	}
	if err := raw.Compact(jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("the script's JSON %s: %w", short(raw), err)
	}
	return raw, nil
}

// fill puts the values of variables in.
func (vars variables) fill(raw jsontext.Value) (jsontext.Value, error) {
	if !bytes.Contains(raw, []byte(`"$`)) {
		return raw, nil
	}
	var out []byte
	copied := 0
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	for {
		if d.PeekKind() != '"' {
			if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
				return append(out, raw[copied:]...), nil
			} else if err != nil {
				return nil, err
			}
			continue
		}
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		name, ok := variable(v)
		if !ok {
			continue
		}
		value, bound := vars[name]
		if !bound {
			return nil, fmt.Errorf("the script uses $%s before an expectation has given it a value", name)
		}
		end := int(d.InputOffset())
		out = append(append(out, raw[copied:end-len(v)]...), value...)
		copied = end
	}
}

// match compares got with what is wanted: an object may have further members, an array
// has exactly the elements. "$name" takes any value the first time, and the same one
// afterwards; "$_" always takes any. bound collects what is new.
func (vars variables) match(want, got jsontext.Value, path string, bound variables) error {
	if name, ok := variable(want); ok {
		if name == "_" {
			return nil
		}
		value, known := bound[name]
		if !known {
			value, known = vars[name]
		}
		if !known {
			bound[name] = got.Clone()
			return nil
		}
		want = value
	}
	if got == nil {
		return fmt.Errorf("%s: want %s, got nothing", path, short(want))
	}
	differ := fmt.Errorf("%s: want %s, got %s", path, short(want), short(got))
	if want.Kind() != got.Kind() {
		return differ
	}
	switch want.Kind() {
	case '{':
		var w, g map[string]jsontext.Value
		if err := errors.Join(split(want, &w), split(got, &g)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		names, err := memberNames(want)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, name := range names {
			if err := vars.match(w[name], g[name], path+"."+name, bound); err != nil {
				return err
			}
		}
		return nil
	case '[':
		var w, g []jsontext.Value
		if err := errors.Join(split(want, &w), split(got, &g)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if len(w) != len(g) {
			return fmt.Errorf("%s: want %d elements, got %d: %s", path, len(w), len(g), short(got))
		}
		for i := range w {
			if err := vars.match(w[i], g[i], path+"["+strconv.Itoa(i)+"]", bound); err != nil {
				return err
			}
		}
		return nil
	default:
		a, b := want.Clone(), got.Clone()
		if err := errors.Join(a.Canonicalize(), b.Canonicalize()); err != nil || !bytes.Equal(a, b) {
			return differ
		}
		return nil
	}
}

func split(raw jsontext.Value, into any) error {
	return json.Unmarshal(raw, into, jsontext.AllowDuplicateNames(true))
}

// memberNames returns the names of an object's members in their order.
func memberNames(object jsontext.Value) ([]string, error) {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var names []string
	for d.PeekKind() == '"' {
		tok, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		names = append(names, tok.String())
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// short is a JSON text for an error.
func short[T ~[]byte | ~string](raw T) string {
	const most = 400
	s := string(raw)
	if s == "" {
		return "nothing"
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
