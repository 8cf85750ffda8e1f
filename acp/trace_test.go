package acp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

const (
	parent1 = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parent2 = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
)

func TestATraceIsReadFromItsThreeMembersAndMalformedOnesCountAsNone(t *testing.T) {
	for meta, want := range map[string]acp.Trace{
		``: {}, `null`: {}, `[]`: {}, `{}`: {}, `{"traceparent":1,"tracestate":{},"baggage":[]}`: {},
		`{"traceparent":"` + parent1 + `","tracestate":"a=1,b=2","baggage":"k=v"}`: {Parent: parent1, State: "a=1,b=2", Baggage: "k=v"},
		`{"baggage":"k=\u00e9"}`: {Baggage: "k=é"},
		`{"tracestate":"a=1"}`:   {},
		`{"traceparent":"` + strings.ToUpper(parent1) + `","tracestate":"a=1"}`:               {},
		`{"traceparent":"00-00000000000000000000000000000000-b7ad6b7169203331-01"}`:           {},
		`{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"}`:           {},
		`{"traceparent":"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`:           {},
		`{"traceparent":"` + parent1 + `-more"}`:                                              {},
		`{"traceparent":"01` + parent1[2:] + `-more"}`:                                        {Parent: "01" + parent1[2:] + "-more"},
		`{"traceparent":"01` + parent1[2:] + `more"}`:                                         {},
		`{"traceparent":"` + parent1[:54] + `"}`:                                              {},
		`{"Traceparent":"` + parent1 + `","x":{"traceparent":"` + parent1 + `"}}`:             {},
		`{"traceparent":"` + strings.Replace(parent1, "-b7", "_b7", 1) + `"}`:                 {},
		`{"traceparent":"\u0030` + parent1[1:] + `","tracestate":"","baggage":"","other":12}`: {Parent: parent1},
	} {
		if got := acp.Meta(meta).Trace(); got != want {
			t.Errorf("%s: %+v, want %+v", meta, got, want)
		}
	}
}

func TestATraceIsPutIntoMetaWithTheExactNamesAndBesideWhatIsThere(t *testing.T) {
	trace := acp.Trace{Parent: parent1, State: "a=1", Baggage: `say="hi"`}
	text := `"traceparent":"` + parent1 + `","tracestate":"a=1","baggage":"say=\"hi\""`
	for meta, want := range map[string]string{
		``:                                      `{` + text + `}`,
		`null`:                                  `{` + text + `}`,
		`{}`:                                    `{` + text + `}`,
		`{"k": [1, 2],"traceparent":"old"}`:     `{"k":[1, 2],` + text + `}`,
		`{"trac\u0065state":"old","a\u0062":1}`: `{"a\u0062":1,` + text + `}`,
	} {
		was := strings.Clone(meta)
		if got := acp.Meta(meta).WithTrace(trace).String(); got != want {
			t.Errorf("%s: %s, want %s", meta, got, want)
		}
		if got := acp.Meta(meta).WithTrace(trace).Trace(); got != trace {
			t.Errorf("%s: read back as %+v", meta, got)
		}
		if meta != was {
			t.Error("the original was changed")
		}
	}
	if m := acp.Meta(nil).WithTrace(acp.Trace{}); m != nil {
		t.Errorf("no trace in no _meta is %s", m)
	}
	if m := acp.Meta(`{"traceparent":"` + parent1 + `","k":1}`).WithTrace(acp.Trace{}); m.String() != `{"k":1}` {
		t.Errorf("taken out: %s", m)
	}
}

func TestWhatAHandlerAsksOfItsPeerCarriesTheTraceOfItsOwnRequestOn(t *testing.T) {
	w := served(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		c := acp.ClientFrom(ctx)
		if got := acp.TraceFrom(ctx); got.Parent != parent1 || got.Baggage != "k=v" {
			t.Errorf("trace %+v", got)
		}
		_, _ = c.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionID: req.SessionID, Path: "/1"})
		_, _ = c.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionID: req.SessionID, Path: "/2", Meta: acp.Meta(`{"own":1}`)})
		_, _ = c.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionID: req.SessionID, Path: "/3", Meta: acp.Meta(`{"traceparent":"` + parent2 + `"}`)})
		span := acp.ContextWithTrace(ctx, acp.Trace{Parent: parent2})
		_, _ = c.ReadTextFile(span, acp.ReadTextFileRequest{SessionID: req.SessionID, Path: "/4"})
		_, _ = c.ReadTextFile(acp.ContextWithTrace(ctx, acp.Trace{}), acp.ReadTextFileRequest{SessionID: req.SessionID, Path: "/5"})
		_ = say(ctx, req.SessionID, "an update")
		term, err := c.NewTerminal(ctx, acp.CreateTerminalRequest{SessionID: req.SessionID, Command: "ls"})
		if err != nil {
			return acp.PromptResponse{}, err
		}
		_ = term.Kill(ctx)
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, term.Release(ctx)
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"terminal":true,"fs":{"readTextFile":true}}}}`)
	w.want(`"hello"`)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[],"_meta":{"traceparent":"` + parent1 + `","baggage":"k=v"}}}`)
	one := `"traceparent":"` + parent1 + `","baggage":"k=v"}`
	for i, want := range []string{
		`"path":"/1","_meta":{` + one, `"path":"/2","_meta":{"own":1,` + one, `"path":"/3","_meta":{"traceparent":"` + parent2 + `"}`,
		`"path":"/4","_meta":{"traceparent":"` + parent2 + `"}`, `"path":"/5"}`,
	} {
		w.want(`"fs/read_text_file"`, want)
		w.send(`{"jsonrpc":"2.0","id":` + string(rune('1'+i)) + `,"result":{"content":""}}`)
	}
	if got := w.want(`an update`); strings.Contains(got, "traceparent") {
		t.Errorf("an update carries the trace: %s", got)
	}
	w.want(`"terminal/create"`, one)
	w.send(`{"jsonrpc":"2.0","id":6,"result":{"terminalId":"t"}}`)
	w.want(`"terminal/kill"`, one)
	w.send(`{"jsonrpc":"2.0","id":7,"result":{}}`)
	w.want(`"terminal/release"`, one)
	w.send(`{"jsonrpc":"2.0","id":8,"result":{}}`)
	w.want(`"id":1,"result"`)
}

func TestAClientsCallsCarryTheTraceOfTheirContextAndItsHandlersSeeTheAgents(t *testing.T) {
	seen := make(chan acp.Trace, 1)
	a, w := agentWire(t, &acp.ClientOptions{Permission: acp.PermissionFunc(func(ctx context.Context, _ acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		seen <- acp.TraceFrom(ctx)
		return acp.RequestPermissionResponse{Outcome: acp.CancelledPermissionOutcome{}}, nil
	})})
	s := w.session(a)
	turn := s.Prompt(acp.ContextWithTrace(t.Context(), acp.Trace{Parent: parent1, State: "a=1"}), acp.Text("x"))
	w.want(`"session/prompt"`, `"_meta":{"traceparent":"`+parent1+`","tracestate":"a=1"}`)
	w.send(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[],"_meta":{"traceparent":"` + parent2 + `"}}}`)
	w.want(`"id":"p","result"`)
	if got := <-seen; got != (acp.Trace{Parent: parent2}) {
		t.Errorf("trace %+v", got)
	}
	w.send(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
	if _, err := turn.Result(); err != nil {
		t.Error(err)
	}
	if !acp.TraceFrom(t.Context()).IsZero() {
		t.Error("a plain context has a trace")
	}
}
