package tool

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// field is what a struct field's tags say of an argument.
type field struct {
	name     string
	required bool
	enum     []string
	min, max *int64
}

func fieldOf(f reflect.StructField) field {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	out := field{name: name, required: !strings.Contains(options, "omit")}
	if values := f.Tag.Get("enum"); values != "" {
		out.enum = strings.Split(values, ",")
	}
	out.min, out.max = bound(f.Tag.Get("min")), bound(f.Tag.Get("max"))
	return out
}

func bound(tag string) *int64 {
	if tag == "" {
		return nil
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic("tool arguments: the bound " + tag + " is not a number")
	}
	return &n
}

// decodeArgs reads a model's arguments into the struct that into points to. It is strict about names and meaning, and
// lenient about form where no meaning can be lost: a number or a yes-or-no in quotes, an array in quotes, null for an
// optional argument.
func decodeArgs(raw []byte, into any) error {
	if len(strings.TrimSpace(string(raw))) == 0 || strings.TrimSpace(string(raw)) == "null" {
		raw = []byte("{}")
	}
	return decodeObject(jsontext.Value(raw), reflect.ValueOf(into).Elem(), "")
}

func decodeObject(raw jsontext.Value, into reflect.Value, at string) error {
	if kind := raw.Kind(); kind != '{' {
		if !raw.IsValid() {
			return fmt.Errorf("%sthe arguments are not valid JSON: send one JSON object", prefix(at))
		}
		return fmt.Errorf("%s must be a JSON object, not %s", orArguments(at), describe(raw))
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return fmt.Errorf("%sthe arguments are not valid JSON (%s): send them again", prefix(at), reason(err))
	}
	t := into.Type()
	if err := unknownMember(members, t, at); err != nil {
		return err
	}
	for i := range t.NumField() {
		f := fieldOf(t.Field(i))
		value, ok := members[f.name]
		if ok && value.Kind() == 'n' {
			ok = false // null stands for nothing
		}
		if !ok {
			if f.required {
				return fmt.Errorf("%q is missing: it must be %s", join(at, f.name), expectation(t.Field(i).Type, f))
			}
			continue
		}
		if err := decodeValue(value, into.Field(i), f, join(at, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// unknownMember refuses a member that no field has.
func unknownMember(members map[string]jsontext.Value, t reflect.Type, at string) error {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = fieldOf(t.Field(i)).name
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%q is not an argument here: the arguments are %s", join(at, name), strings.Join(names, ", "))
		}
	}
	return nil
}

func decodeValue(raw jsontext.Value, into reflect.Value, f field, at string) error {
	wrong := func() error {
		return fmt.Errorf("%q must be %s, not %s", at, expectation(into.Type(), f), describe(raw))
	}
	switch into.Kind() {
	case reflect.String:
		text, ok := stringOf(raw)
		if !ok || len(f.enum) > 0 && !slices.Contains(f.enum, text) {
			return wrong()
		}
		into.SetString(text)
	case reflect.Bool:
		text, _ := scalar(raw)
		switch strings.ToLower(text) {
		case "true":
			into.SetBool(true)
		case "false":
			into.SetBool(false)
		default:
			return wrong()
		}
	case reflect.Int:
		n, ok := intOf(raw)
		if !ok || f.min != nil && n < *f.min || f.max != nil && n > *f.max {
			return wrong()
		}
		into.SetInt(n)
	case reflect.Slice:
		items, ok := arrayOf(raw)
		if !ok {
			return wrong()
		}
		into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
		for i, item := range items {
			if err := decodeValue(item, into.Index(i), field{}, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return decodeObject(raw, into, at)
	default:
		panic("tool arguments: unsupported type " + into.Type().String())
	}
	return nil
}

// stringOf takes a string, and a number as its digits.
func stringOf(raw jsontext.Value) (string, bool) {
	switch raw.Kind() {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	case '0':
		return raw.String(), true
	}
	return "", false
}

// scalar gives the text of a string, number or literal, without quotes and surrounding space.
func scalar(raw jsontext.Value) (string, bool) {
	if raw.Kind() == '{' || raw.Kind() == '[' {
		return "", false
	}
	if s, ok := stringOf(raw); ok {
		return strings.TrimSpace(s), true
	}
	return raw.String(), true
}

func intOf(raw jsontext.Value) (int64, bool) {
	text, ok := scalar(raw)
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// arrayOf takes an array, one inside a string, and a single object as an array of one.
func arrayOf(raw jsontext.Value) ([]jsontext.Value, bool) {
	if raw.Kind() == '"' {
		text, ok := stringOf(raw)
		if !ok || !jsontext.Value(text).IsValid() {
			return nil, false
		}
		raw = jsontext.Value(text)
	}
	switch raw.Kind() {
	case '{':
		return []jsontext.Value{raw}, true
	case '[':
		var items []jsontext.Value
		err := json.Unmarshal(raw, &items)
		return items, err == nil
	}
	return nil, false
}

func expectation(t reflect.Type, f field) string {
	switch t.Kind() {
	case reflect.String:
		if len(f.enum) > 0 {
			return "one of " + strings.Join(f.enum, ", ")
		}
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		switch {
		case f.min != nil && f.max != nil:
			return fmt.Sprintf("a whole number from %d to %d", *f.min, *f.max)
		case f.min != nil:
			return fmt.Sprintf("a whole number, at least %d", *f.min)
		}
		return "a whole number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "an array of objects"
		}
		return "an array"
	}
	return "an object"
}

func describe(raw jsontext.Value) string {
	switch raw.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return clip(raw.String(), 60)
}

func reason(err error) string {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && syntactic.Err != nil {
		return syntactic.Err.Error()
	}
	return "a value cannot be read"
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func prefix(at string) string {
	if at == "" {
		return ""
	}
	return at + ": "
}

func orArguments(at string) string {
	if at == "" {
		return "the arguments"
	}
	return strconv.Quote(at)
}
