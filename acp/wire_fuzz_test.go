package acp

import (
	"bytes"
	"testing"
)

// FuzzDecodeEncodeDecode reads any bytes as every type and union. What decodes must encode, decode again, and encode to the same bytes,
// also with every leniency; and nothing may panic.
func FuzzDecodeEncodeDecode(f *testing.F) {
	all := samples()
	trips := map[string]sample{}
	var names []string
	for _, s := range all {
		if _, ok := trips[s.typeName]; !ok {
			trips[s.typeName] = s
			names = append(names, s.typeName)
		}
	}
	index := map[string]uint16{}
	for i, n := range names {
		index[n] = uint16(i)
	}
	for _, s := range all {
		f.Add(index[s.typeName], []byte(s.text))
	}
	f.Add(index["SessionNotification"], []byte(`{"update":{"content":{"text":7,"type":"text"},"sessionUpdate":"agent_message_chunk"},"sessionId":"\ud83d\ude00"}`))
	f.Add(index["NewSessionRequest"], []byte("{\"cwd\":\"\",\"mcpServers\":[{\"name\":\"\",\"env\":{\"\\u0000\":\"\"},\n\"command\":\"\"}]}"))
	f.Fuzz(func(t *testing.T, which uint16, in []byte) {
		s := trips[names[int(which)%len(names)]]
		for _, c := range []Codec{
			{Unstable: true, TolerateUpdates: true, OnLenient: func(string, string) {}},
			{},
		} {
			_, once, err := s.trip(c, in)
			if err != nil {
				if once != nil {
					t.Fatalf("%s: decoded and does not encode: %v\n%s", s.typeName, err, in)
				}
				continue
			}
			if bytes.ContainsAny(once, "\r\n") {
				t.Fatalf("%s: the output has a line break: %q", s.typeName, once)
			}
			_, twice, err := s.trip(c, once)
			if err != nil {
				t.Fatalf("%s: own output does not decode: %v\n%s\n%s", s.typeName, err, in, once)
			}
			if !bytes.Equal(once, twice) {
				t.Fatalf("%s: not stable\nin    %s\nonce  %s\ntwice %s", s.typeName, in, once, twice)
			}
		}
	})
}
