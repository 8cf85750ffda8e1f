package acp

import "github.com/go-json-experiment/json/jsontext"

// ElicitationContentValue is the answer to one field of a form.
//
// It is one of these types, as a value:
//
//   - [ElicitationString]
//   - [ElicitationInteger]
//   - [ElicitationNumber]
//   - [ElicitationBoolean]
//   - [ElicitationStrings]
//   - [UnknownElicitationContentValue], which keeps what this version does not know
//
//sumtype:decl
type ElicitationContentValue interface {
	elicitationContentValue(e *encoder)
}

// ElicitationString is the answer to a text field or a choice.
type ElicitationString string

// ElicitationInteger is the answer to an integer field.
type ElicitationInteger int64

// ElicitationNumber is the answer to a number field. A received number without fraction that fits an int64 is an [ElicitationInteger].
type ElicitationNumber float64

// ElicitationBoolean is the answer to a yes-or-no field.
type ElicitationBoolean bool

// ElicitationStrings is the answer to a field with several choices.
type ElicitationStrings []string

// UnknownElicitationContentValue is a value of a kind that this version does not know.
type UnknownElicitationContentValue struct {
	Raw jsontext.Value
}

// MarshalJSON writes Raw.
func (v UnknownElicitationContentValue) MarshalJSON() ([]byte, error) {
	return marshalUnion(ElicitationContentValue(v), encodeElicitationContentValue)
}

func (v ElicitationString) elicitationContentValue(e *encoder)  { e.str(string(v)) }
func (v ElicitationInteger) elicitationContentValue(e *encoder) { e.int(int64(v)) }
func (v ElicitationNumber) elicitationContentValue(e *encoder)  { e.float(float64(v)) }
func (v ElicitationBoolean) elicitationContentValue(e *encoder) { e.bool(bool(v)) }
func (v ElicitationStrings) elicitationContentValue(e *encoder) {
	encodeSlice(e, v, encodeString[string])
}
func (v UnknownElicitationContentValue) elicitationContentValue(e *encoder) { e.raw(v.Raw) }

func decodeElicitationContentValue(d *decoder) (ElicitationContentValue, error) {
	at := d.i
	switch c := d.b[at]; {
	case c == '"':
		return ElicitationString(d.text()), nil
	case c == 't' || c == 'f':
		b, err := d.bool()
		return ElicitationBoolean(b), err
	case isNumber(c):
		if n, err := decodeInt[int64](d, 64); err == nil {
			return ElicitationInteger(n), nil
		}
		d.i = at
		f, err := d.float()
		return ElicitationNumber(f), err
	case c == '[':
		if s, err := decodeSlice(d, false, (*decoder).str); err == nil {
			return ElicitationStrings(s), nil
		}
		d.i = at
	}
	raw, err := d.raw()
	return UnknownElicitationContentValue{raw}, err
}

func encodeElicitationContentValue(e *encoder, v ElicitationContentValue) {
	if v == nil {
		e.fail("ElicitationContentValue: required, nil")
		return
	}
	v.elicitationContentValue(e)
}

func encodeElicitationContentValueItem(e *encoder, v *ElicitationContentValue) {
	encodeElicitationContentValue(e, *v)
}

// decodeElicitationObject reads the type of a form's schema, which can only be an object.
func decodeElicitationObject(d *decoder) (ElicitationSchemaType, error) {
	at := d.i
	v, err := decodeElicitationSchemaType(d)
	if err == nil && v != ElicitationSchemaObject {
		d.i = at
		err = d.expected(`"object"`)
	}
	if err != nil {
		d.lenient(at, err)
	}
	return ElicitationSchemaObject, nil
}
