package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
)

// history is a conversation of 200 messages, of which every fifth quotes a file.
func history() []model.Message {
	var all []model.Message
	for i := range 100 {
		text := fmt.Sprintf("message %d: %s", i, strings.Repeat("please look at the function that parses the header. ", 20))
		if i%5 == 0 {
			text += strings.Repeat(fmt.Sprintf("\t%d := parse(line, %d) // see parse.go\n", i, i), 200) + jane
		}
		all = append(all, call("view", fmt.Sprintf(`{"path":"file%d.go"}`, i)), result("view", text))
	}
	return all
}

// BenchmarkHistory measures a request of which only the last message is new.
func BenchmarkHistory(b *testing.B) {
	g := New(Policy{PII: PIIRedact})
	req := model.Request{System: "be brief", Messages: history()}
	if _, _, err := g.Outgoing(b.Context(), req); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		next := req
		next.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], say(fmt.Sprintf("new message %d, with a few words in it", n)))
		if _, _, err := g.Outgoing(b.Context(), next); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(flat(req)))/1e6, "MB")
}

func BenchmarkFirstRequest(b *testing.B) {
	req := model.Request{System: "be brief", Messages: history()}
	for b.Loop() {
		if _, _, err := New(Policy{}).Outgoing(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
