package acp

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestAPatchTellsKeepClearAndSetApart(t *testing.T) {
	for text, want := range map[string]Patch[string]{
		`{"sessionUpdate":"session_info_update"}`:              {},
		`{"sessionUpdate":"session_info_update","title":null}`: PatchClear[string](),
		`{"sessionUpdate":"session_info_update","title":""}`:   PatchSet(""),
		`{"sessionUpdate":"session_info_update","title":"t"}`:  PatchSet("t"),
	} {
		v, _, err := decodeAs[SessionInfoUpdate](text)
		if err != nil || v.Title != want || encoded(t, &v) != text {
			t.Errorf("%s: got %+v, %v, written as %s", text, v.Title, err, encoded(t, &v))
		}
	}
	var p Patch[string]
	if !p.IsKeep() || p.Apply("old") != "old" {
		t.Error("the zero patch does not keep")
	}
	p.Set("new")
	if v, ok := p.Get(); !ok || v != "new" || p.Apply("old") != "new" || p.IsClear() {
		t.Errorf("after Set: %+v", p)
	}
	p.Clear()
	if _, ok := p.Get(); ok || !p.IsClear() || p.Apply("old") != "" {
		t.Errorf("after Clear: %+v", p)
	}
	p.Keep()
	if !p.IsKeep() {
		t.Errorf("after Keep: %+v", p)
	}
	v, _, err := decodeAs[CompactionUpdate](`{"compactionId":"c","status":"completed","summary":[{"type":"text","text":"a"}],"_meta":null}`)
	if err != nil || !v.Meta.IsClear() {
		t.Errorf("got %+v, %v", v, err)
	}
	if blocks, ok := v.Summary.Get(); !ok || PlainText(blocks...) != "a" {
		t.Errorf("got %+v", v.Summary)
	}
}

func TestAnOptionalValueTellsZeroAndAbsentApart(t *testing.T) {
	for text, want := range map[string]Opt[uint32]{
		`{"sessionId":"s","path":"/p"}`:           {},
		`{"sessionId":"s","path":"/p","line":0}`:  Some[uint32](0),
		`{"sessionId":"s","path":"/p","line":12}`: Some[uint32](12),
	} {
		v, _, err := decodeAs[ReadTextFileRequest](text)
		if err != nil || v.Line != want || encoded(t, &v) != text {
			t.Errorf("%s: got %+v, %v", text, v.Line, err)
		}
	}
	var o Opt[int]
	if _, ok := o.Get(); ok || o.IsSet() || o.Or(3) != 3 {
		t.Errorf("the zero value is set: %+v", o)
	}
	o.Set(0)
	if v, ok := o.Get(); !ok || v != 0 || !o.IsSet() || o.Or(3) != 0 {
		t.Errorf("after Set: %+v", o)
	}
	d, _, err := decodeAs[ToolCallDiff](`{"path":"/p","oldText":"","newText":"x"}`)
	if old, ok := d.OldText.Get(); err != nil || !ok || old != "" {
		t.Errorf("a file that was empty looks new: %+v, %v", d, err)
	}
}

func TestRequestIDsAreEchoedAsTheyCame(t *testing.T) {
	for _, text := range []string{`{"requestId":1}`, `{"requestId":-9223372036854775808}`, `{"requestId":"a\u0062"}`, `{"requestId":""}`, `{"requestId":null}`} {
		v, _, err := decodeAs[CancelRequestNotification](text)
		if err != nil || encoded(t, &v) != text {
			t.Errorf("%s: written back as %s, %v", text, encoded(t, &v), err)
		}
	}
	for _, text := range []string{`7`, `"a"`, `null`} {
		var id RequestID
		if err := json.Unmarshal([]byte(text), &id); err != nil || id.String() != text {
			t.Errorf("%s: got %s, %v", text, id, err)
		}
		if b, err := json.Marshal(id); err != nil || string(b) != text {
			t.Errorf("%s: written as %s, %v", text, b, err)
		}
	}
	if n, ok := NumberID(-4).Number(); !ok || n != -4 {
		t.Error("NumberID")
	}
	if s, ok := StringID("a\"b").Text(); !ok || s != `a"b` {
		t.Error("StringID")
	}
	if _, ok := StringID("4").Number(); ok {
		t.Error("a string is a number")
	}
	if _, ok := NumberID(4).Text(); ok {
		t.Error("a number is a string")
	}
	if id := (RequestID{}); !id.IsNull() || id.String() != "null" || NumberID(0).IsNull() {
		t.Error("null")
	}
}

func TestMetaIsReadByName(t *testing.T) {
	m, err := NewMeta(map[string]any{"traceparent": "00-1", "n": 3})
	if err != nil || m.String() != `{"n":3,"traceparent":"00-1"}` {
		t.Fatalf("got %s, %v", m, err)
	}
	if v, ok := m.Get("traceparent"); !ok || string(v) != `"00-1"` {
		t.Errorf("got %s, %v", v, ok)
	}
	for _, bad := range []Meta{nil, Meta(`[]`), Meta(`{`), Meta(`{"x":{"traceparent":1}}`)} {
		if v, ok := bad.Get("traceparent"); ok {
			t.Errorf("%s has %s", bad, v)
		}
	}
	if _, err := NewMeta(map[string]any{"f": func() {}}); err == nil {
		t.Error("a function was encoded")
	}
}

func TestEnumsKeepUnknownValues(t *testing.T) {
	v, skipped, err := decodeAs[ToolCallUpdate](`{"toolCallId":"c","kind":"teleport","status":"completed"}`)
	if err != nil || len(skipped) > 0 || v.Kind != "teleport" || v.Kind.Known() || v.Status != ToolCallCompleted || !v.Status.Known() {
		t.Errorf("got %+v, %v %v", v, skipped, err)
	}
	e, _, err := decodeAs[Error](`{"code":-32099,"message":"m"}`)
	if err != nil || e.Code != -32099 || e.Code.Known() || !CodeParseError.Known() {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestContentHelpersMakeWhatTheySay(t *testing.T) {
	data := []byte{0, 1, 255}
	for _, c := range []interface{ Bytes() ([]byte, error) }{Image("image/png", data), Audio("audio/wav", data), BlobResourceContents{Blob: Image("", data).Data}} {
		if b, err := c.Bytes(); err != nil || !reflect.DeepEqual(b, data) {
			t.Errorf("%T: got %v, %v", c, b, err)
		}
	}
	if _, err := (ImageContent{Data: "?"}).Bytes(); err == nil {
		t.Error("bad base64 was decoded")
	}
	if got := PlainText(Text("a"), Image("image/png", data), EmbeddedResource{Resource: TextResourceContents{Text: "b"}}, Text("c")); got != "abc" {
		t.Errorf("got %q", got)
	}
	if got := PlainText(ToolText("x").Content); got != "x" {
		t.Errorf("got %q", got)
	}
	if a, b := NewSessionID(), NewSessionID(); a == b || len(a) < 26 {
		t.Errorf("ids %s and %s", a, b)
	}
}
