package jsonrpc

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzScan checks the envelope against the plain meaning of JSON: a text is refused
// exactly if it is not one JSON value, and the parts are the members' values.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,{}]}}`, `{"jsonrpc":"2.0","method":"a\u0062"}`, `{"id":1,"result":null}`,
		`{"\u0069d":"x","error":{"code":1,"message":"m"}}`, `[]`, `null`, `{`, `{"id":1}{}`, ` {} `, "\xff",
		` { "jsonrpc" : "2.0" , "id" : "7" , "method" : "\u006d" , "params" : null } `, `{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`, `{"id":1,"id":2,"method":""}`,
		`{"jsonrpc":"2.0","method":"m","params":{"a":{"b":1,"b":2}},"extra":1}`, `{"error":{"code":1,"message":"m","message":"n"},"id":null}`, `{"id":1,}`, `{"id":1 "method":"m"}`, `{"jsonrpc":"2.0","id":1e400,"method":"m"}`,
	} {
		f.Add([]byte(seed))
	}
	var s scanner
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := s.scan(line)
		valid := jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true))
		if (err == nil) != valid {
			t.Fatalf("scan: %v, valid: %v", err, valid)
		}
		if err != nil {
			return
		}
		if q, ok := quick(line); ok {
			slow, err := new(scanner).any(line)
			q.twice = uniqueNames(slow.params)
			if err != nil || !reflect.DeepEqual(q, slow) || uniqueNames(slow.result) != nil {
				t.Fatalf("split as %+v quickly, and as %+v, %v", q, slow, err)
			}
		}
		for _, part := range []jsontext.Value{e.id, e.params, e.result, e.err} {
			if part != nil && !part.IsValid(jsontext.AllowDuplicateNames(true)) {
				t.Fatalf("part %q is no JSON value", part)
			}
		}
		if e.kind == kindInvalid && e.problem == "" {
			t.Fatal("invalid without a problem")
		}
		if e.kind == kindRequest {
			id, ok := NewID(e.id)
			if !ok {
				t.Fatalf("id %s", e.id)
			}
			var answer frame
			if err := answer.result(id, nil); err != nil {
				t.Fatal(err)
			}
			back, err := new(scanner).scan(answer.buf)
			if err != nil || back.kind != kindResponse || string(back.id) != string(e.id) {
				t.Fatalf("answer %s: %v", answer.buf, err)
			}
		}
		headOf(line)
	})
}
