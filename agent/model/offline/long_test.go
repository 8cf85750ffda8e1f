package offline

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
)

// Long prompts are read whole or said to be cut; how long that takes, BenchmarkLongPrompts shows.

func TestAPromptOfAHundredThousandCharactersIsAnsweredAtOnce(t *testing.T) {
	f := newFolder(t, nil)
	for name, piece := range map[string]string{
		"one word": "x", "words": "word ", "names": "aB_c ", "apostrophes": "it's ", "quotes": ` "a`, "curly quotes": " “a",
		"escaped quotes": ` \"`, "mentions": "a@b ", "lines": "word\n", "links": "@a/b ",
	} {
		t.Run(name, func(t *testing.T) {
			req := model.Request{Messages: []model.Message{user(strings.Repeat(piece, 100_000/len(piece)))}, Tools: f.specs()}
			thought := ""
			for _, e := range collect(t, req) {
				if d, ok := e.(model.ThoughtDelta); ok {
					thought += d.Text
				}
			}
			if !strings.Contains(thought, "only its first 20000 characters") {
				t.Errorf("it does not say what it left out: %q", clip(thought, 200))
			}
		})
	}
}

func TestAQuestionIsWeighedByItsFirstCharacters(t *testing.T) {
	c := newChat(t, newFolder(t, map[string]string{"a.go": "const zebra = 1\n"}))
	l := c.say("where is the zebra set? " + strings.Repeat("é", 50_000))
	if !strings.Contains(l.answer, "a.go:1") || len(l.answer) > 2000 {
		t.Errorf("%s", clip(l.answer, 500))
	}
}

func TestAnInstructionOfAHundredThousandCharactersIsCarriedOutWhole(t *testing.T) {
	f := newFolder(t, nil)
	for name, piece := range map[string]string{
		"one word": "x", "lines": "hello there it is\n", "short lines": "xyz\n", "then": "run then ", "quotes": ` "a`, "bullets": "- item\n",
	} {
		text := strings.Repeat(piece, 100_000/len(piece))
		for _, lead := range []string{"create F: ", "create F:\n"} {
			t.Run(name, func(t *testing.T) {
				got := calls(collect(t, model.Request{Messages: []model.Message{user(lead + text)}, Tools: f.specs()}))
				if len(got) != 1 || got[0].Name != "create" {
					t.Fatalf("%d calls", len(got))
				}
				var args createArgs
				if err := json.Unmarshal(got[0].Args, &args); err != nil {
					t.Fatal(err)
				}
				if want := strings.TrimSpace(text) + "\n"; strings.TrimLeft(args.Content, " ") != strings.TrimLeft(want, " ") {
					t.Errorf("%d characters became %d", len(want), len(args.Content))
				}
			})
		}
	}
}

func TestALongLineOfManyInstructionsIsReadAtOnce(t *testing.T) {
	for name, prompt := range map[string]string{
		"joined":        strings.Repeat("search a then ", 8) + strings.Repeat("x ", 50_000),
		"many":          "run a" + strings.Repeat(` then "run`, 5_000),
		"politeness":    strings.Repeat("could you ", 5_000) + "read a.txt",
		"bulleted list": strings.Repeat("- read a.txt\n", 4_000),
	} {
		t.Run(name, func(t *testing.T) {
			parse(t.Context(), prompt)
		})
	}
}

// endsLater is a context that ends once it was asked so often.
type endsLater struct {
	context.Context
	left int
}

func (e *endsLater) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestReadingALongPromptEndsWithTheContext(t *testing.T) {
	for _, prompt := range []string{
		strings.Repeat("read a.txt\n", 50_000), "create F: x\n" + strings.Repeat("hello there\n", 50_000),
	} {
		ctx := &endsLater{t.Context(), 5}
		var last error
		for e, err := range New().Stream(ctx, model.Request{Messages: []model.Message{user(prompt)}}) {
			if e != nil {
				t.Fatalf("%T after the end", e)
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) || ctx.left < -50 {
			t.Errorf("%v; asked %d times after the end", last, -ctx.left)
		}
	}
}

func BenchmarkLongPrompts(b *testing.B) {
	for name, prompt := range map[string]string{
		"question": strings.Repeat("word ", 200_000), "create": "create F: " + strings.Repeat("hello there\n", 80_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(prompt)))
			for b.Loop() {
				parse(b.Context(), prompt)
			}
		})
	}
}
