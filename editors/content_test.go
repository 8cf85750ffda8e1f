//go:build unix

package editors

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// picture is a small PNG.
func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPicturesReachTheModelAndThePerson(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		data := picture(t)
		d := sit(t, p, map[string]string{"p.png": string(data)})
		s := d.open()
		_, updates := d.send(s, acp.Text("[[seen]]"), acp.Image("image/png", data))
		if text := spoken(updates); !strings.Contains(text, "user image/png") {
			t.Errorf("the model saw %q", text)
		}
		d.say(s, `[[anew]] [[call: view {"path":"p.png"}]] [[text: there]]`)
		var pictures int
		for _, c := range lastCall(t, s).Content {
			if block, ok := c.(acp.ToolCallBlock); ok {
				if _, ok := block.Content.(acp.ImageContent); ok {
					pictures++
				}
			}
		}
		if pictures != 1 {
			t.Errorf("the call shows %d pictures", pictures)
		}
	})
}

func TestAFileGivenAlongReachesTheModelAndWhatIsNotTakenIsRefused(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		d.send(s, acp.Text("What is this? [[text: a file]]"), acp.EmbeddedResource{
			Resource: acp.TextResourceContents{URI: "file://" + d.path("a.txt"), Text: "given along"},
		})
		if body := string(d.model.Last().Body); !strings.Contains(body, "given along") || !strings.Contains(body, "a.txt") {
			t.Errorf("the model got %s", body)
		}
		_, err := s.Prompt(t.Context(), acp.Text("Listen"), acp.Audio("audio/wav", []byte("RIFF"))).Result()
		var refused *acp.RequestError
		var local *acp.CapabilityError
		if !errors.As(err, &local) && (!errors.As(err, &refused) || refused.Code != -32602) {
			t.Errorf("a sound was answered with %v", err)
		}
	})
}

func TestAKeyThatIsRefusedIsAnErrorThatLetsTheEditorOfferALogin(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		_, err := s.Prompt(t.Context(), acp.Text("[[status 401]]")).Result()
		var refused *acp.RequestError
		if !errors.As(err, &refused) || refused.Code != -32000 || !strings.Contains(refused.Message, "OPENAI_API_KEY") {
			t.Errorf("the prompt was answered with %v", err)
		}
		if err != nil && strings.Contains(err.Error(), apiKey) {
			t.Error("the key is shown")
		}
		before := noticed(s)
		stop, _ := d.say(s, "[[anew]] [[status 400]] [[text: never]]") // another failure is told, and offers no login
		if stop != acp.StopEndTurn || noticed(s) == before {
			t.Errorf("a failed turn ended with %s and told %q", stop, noticed(s))
		}
		if _, updates := d.say(s, "[[anew]] [[text: still here]]"); !strings.Contains(spoken(updates), "still here") {
			t.Errorf("the session went on with %q", spoken(updates))
		}
	})
}
