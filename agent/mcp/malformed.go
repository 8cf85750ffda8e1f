package mcp

import (
	"encoding/json"
	"errors"
)

// reason says what an error means to the person. An answer that does not have the protocol's form is said to be one, and
// which part of it is wrong, without what the decoder knows of our types.
func reason(err error) string {
	if form := malformed(err); form != "" {
		return form
	}
	return err.Error()
}

// malformed says which part of an answer does not have the protocol's form. Of other errors it says nothing.
func malformed(err error) string {
	wrong := new(json.UnmarshalTypeError)
	if !errors.As(err, &wrong) {
		return ""
	}
	where := ""
	if wrong.Field != "" {
		where = " (" + wrong.Field + ")"
	}
	return "its answer does not have the form that the Model Context Protocol asks for" + where + ": the server has to be mended or updated"
}
