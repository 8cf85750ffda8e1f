package bridge

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// ask sends a prompt of several blocks and gives what the client was shown.
func ask(t *testing.T, s *acp.Session, blocks ...acp.ContentBlock) folded {
	t.Helper()
	turn := s.Prompt(t.Context(), blocks...)
	var updates []acp.SessionUpdate
	for u := range turn.Updates() {
		updates = append(updates, u)
	}
	if _, err := turn.Result(); err != nil {
		t.Fatal(err)
	}
	return fold(updates)
}

// said is what the model got of the newest prompt.
func (r *scriptedRig) said(t *testing.T) modeltest.Item {
	t.Helper()
	items := r.double.Last().Items
	return items[len(items)-1]
}

func fileLink(path, suffix string) acp.ResourceLink {
	return acp.ResourceLink{Name: filepath.Base(path), URI: (&url.URL{Scheme: "file", Path: path}).String() + suffix}
}

const answer = "[[text: fine]]"

func TestALinkToATextFileBringsItsTextOrItsLinesAndFoldersTheirList(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	write(t, r.folder, "a b.txt", "one\ntwo\nthree\nfour\n")
	write(t, r.folder, "größe.txt", "no newline")
	if err := os.MkdirAll(filepath.Join(r.folder, "sub", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, r.folder, "sub/x.txt", "")
	at := func(name string) string { return filepath.Join(r.folder, name) }
	s := r.open(t)
	for name, c := range map[string]struct {
		link acp.ResourceLink
		want string
	}{
		"whole":        {fileLink(at("a b.txt"), ""), `<file path="` + at("a b.txt") + `">` + "one\ntwo\nthree\nfour\n</file>"},
		"lines":        {fileLink(at("a b.txt"), "#L2:3"), `<file path="` + at("a b.txt") + `" lines="2-3 of 4">` + "two\nthree\n</file>"},
		"symbol":       {fileLink(at("a b.txt"), "?symbol=x#L4"), `<file path="` + at("a b.txt") + `" lines="4-4 of 4" symbol="x">` + "four\n</file>"},
		"over the end": {fileLink(at("a b.txt"), "#L3-L99"), `<file path="` + at("a b.txt") + `" lines="3-4 of 4">` + "three\nfour\n</file>"},
		"not ASCII":    {fileLink(at("größe.txt"), ""), `<file path="` + at("größe.txt") + `">no newline</file>`},
		"folder":       {fileLink(at("sub"), ""), `<file path="` + at("sub") + "/\">deep/\nx.txt\n</file>"},
	} {
		seen := ask(t, s, acp.Text("explain "+answer), c.link)
		if got := r.said(t).Text; !strings.Contains(got, c.want) || !strings.Contains(got, "@"+c.link.URI) {
			t.Errorf("%s: the model got %q, want %q", name, got, c.want)
		}
		if got := seen.text("agent"); got != "fine" {
			t.Errorf("%s: the person was told %q", name, got)
		}
	}
}

func TestALinkThatIsNotReadStaysANameAndThePersonIsToldWhy(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	outside := write(t, t.TempDir(), "outside.txt", "CANARY")
	write(t, r.folder, ".env", "KEY=CANARY")
	write(t, r.folder, "bin", "CANARY\x00\x01")
	write(t, r.folder, "short.txt", "CANARY\n")
	at := func(name string) string { return filepath.Join(r.folder, name) }
	for name, to := range map[string]string{"link.txt": outside, "link-env.txt": at(".env")} {
		if err := os.Symlink(to, at(name)); err != nil {
			t.Skip(err)
		}
	}
	s := r.open(t)
	for name, c := range map[string]struct {
		link acp.ResourceLink
		want string
	}{
		"outside":           {fileLink(outside, ""), "outside the session's folders"},
		"dots":              {acp.ResourceLink{Name: "x", URI: "file://" + r.folder + "/%2e%2e/" + filepath.Base(filepath.Dir(outside)) + "/outside.txt"}, "outside the session's folders"},
		"a symlink outside": {fileLink(at("link.txt"), ""), "outside the session's folders"},
		"a secret":          {fileLink(at(".env"), ""), "usually hold secrets"},
		"a linked secret":   {fileLink(at("link-env.txt"), ""), "usually hold secrets"},
		"missing":           {fileLink(at("missing.txt"), ""), "does not exist"},
		"binary":            {fileLink(at("bin"), ""), "not text"},
		"past the end":      {fileLink(at("short.txt"), "#L7"), "only 1 lines"},
		"the web":           {acp.ResourceLink{Name: "page", URI: "https://example.com/CANARY.txt"}, "no file of this machine"},
		"a private scheme":  {acp.ResourceLink{Name: "thing", URI: "zed:///agent/thread/1"}, "no file of this machine"},
		"another machine":   {acp.ResourceLink{Name: "thing", URI: "file://host/etc/passwd"}, "no file of this machine"},
	} {
		seen := ask(t, s, acp.Text(answer), c.link)
		got := r.said(t).Text
		if !strings.Contains(got, "@"+c.link.URI) || strings.Contains(got, "<file") || strings.Contains(strings.ReplaceAll(got, c.link.URI, ""), "CANARY") {
			t.Errorf("%s: the model got %q", name, got)
		}
		lines := strings.Split(strings.TrimSpace(strings.TrimSuffix(seen.text("agent"), "fine")), "\n")
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "The link ") || !strings.Contains(lines[0], c.want) || strings.Contains(lines[0], "=CANARY") {
			t.Errorf("%s: the person was told %q", name, lines)
		}
	}
}

func TestWhatLinksBringIsBounded(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	long := write(t, r.folder, "long.txt", strings.Repeat("größe 0123456789\n", 10_000))
	one := write(t, r.folder, "one-line.txt", strings.Repeat("€", 100_000))
	s := r.open(t)
	seen := ask(t, s, acp.Text(answer), fileLink(long, ""), fileLink(one, ""), fileLink(long, ""))
	got := r.said(t).Text
	if len(got) > 140<<10 || strings.ContainsRune(got, '\uFFFD') || strings.Count(got, "<file") != 2 || !strings.Contains(got, ` of 10000">`) {
		t.Errorf("the model got %d bytes, %q …", len(got), got[:300])
	}
	if told := seen.text("agent"); strings.Count(told, "was read only to line") != 1 {
		t.Errorf("the person was told %q", told)
	}
	blocks := []acp.ContentBlock{acp.Text(answer)}
	for i := range 60 {
		name := "f" + strings.Repeat("x", i)
		blocks = append(blocks, fileLink(write(t, r.folder, name, "text\n"), ""))
	}
	seen = ask(t, s, blocks...)
	if got := strings.Count(r.said(t).Text, "<file"); got != 20 {
		t.Errorf("%d files were read", got)
	}
	if told := seen.text("agent"); strings.Count(told, "The link ") != 10 || !strings.Contains(told, "30 more parts of the prompt") {
		t.Errorf("the person was told %q", told)
	}
}

func TestALinkedFileIsReadAsTheEditorHasItAndCanThenBeEdited(t *testing.T) {
	b := &buffers{text: map[string]string{}}
	r := connectScripted(t, acp.ClientOptions{Files: b})
	path := write(t, r.folder, "a.txt", "saved words\n")
	b.set(path, "unsaved words\n")
	ask(t, r.open(t), acp.Text(`[[call: edit {"path":"a.txt","edits":[{"old":"words","new":"text"}]}]] [[text: fine]]`), fileLink(path, ""))
	if got := r.double.Requests()[0].Items; !strings.Contains(got[len(got)-1].Text, "unsaved words") {
		t.Errorf("the model got %q", got[len(got)-1].Text)
	}
	if got := b.get(path); got != "unsaved text\n" {
		t.Errorf("the buffer is %q", got)
	}
}

func TestEmbeddedTextBringsItsLinesAndABlobIsNeverDroppedInSilence(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	s := r.open(t)
	seen := ask(t, s, acp.Text(answer),
		acp.EmbeddedResource{Resource: acp.TextResourceContents{URI: "file:///w/a.go#L5:9", Text: "five\n"}},
		acp.EmbeddedResource{Resource: acp.BlobResourceContents{URI: "file:///w/a.zip", MIMEType: "application/zip", Blob: "UEsDBA=="}})
	got := r.said(t).Text
	if !strings.Contains(got, `<file path="/w/a.go" lines="5-9">`+"five\n</file>") || !strings.Contains(got, "/w/a.zip: a binary file (application/zip, 4 bytes)") ||
		strings.Contains(got, "UEsDBA") {
		t.Errorf("the model got %q", got)
	}
	if told := seen.text("agent"); strings.Count(told, "was left out") != 1 || !strings.Contains(told, "The file file:///w/a.zip (application/zip, 4 bytes)") {
		t.Errorf("the person was told %q", told)
	}
}

func picture(t *testing.T, side int) []byte {
	t.Helper()
	var b bytes.Buffer
	noise := image.NewNRGBA(image.Rect(0, 0, side, side))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(random.Uint32())
	}
	if err := png.Encode(&b, noise); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAnImageReachesAModelThatTakesImagesAndOthersGetAVisibleLine(t *testing.T) {
	data := picture(t, 4)
	r := connectScripted(t, acp.ClientOptions{})
	r.double.Queue(answer)
	if told := ask(t, r.open(t), acp.Image("image/png", data)).text("agent"); told != "fine" {
		t.Errorf("the person was told %q", told)
	}
	if got := r.said(t); len(got.Images) != 1 || got.Images[0].Bytes != len(data) {
		t.Errorf("the model got %+v", got)
	}
	if told := ask(t, r.open(t), acp.Text(answer), acp.Image("image/tiff", data)).text("agent"); strings.Count(told, "was left out") != 1 ||
		!strings.Contains(told, "PNG, JPEG, GIF and WebP") {
		t.Errorf("of a TIFF the person was told %q", told)
	}
	if got := r.said(t); len(got.Images) != 0 {
		t.Errorf("the model got %+v", got)
	}
	blind := connect(t, acp.ClientOptions{})
	told := ask(t, blind.open(t), acp.Image("image/png", data), acp.Text("help")).text("agent")
	if strings.Count(told, "was left out") != 1 || !strings.Contains(told, "The image number 1 of the prompt (image/png, ") {
		t.Errorf("with a model that takes none the person was told %q", told)
	}
}

func TestAPictureThatAToolGivesIsShownAndNeverGivenAsText(t *testing.T) {
	data := picture(t, 40)
	encoded := base64.StdEncoding.EncodeToString(data)
	r := connectScripted(t, acp.ClientOptions{})
	if err := os.WriteFile(filepath.Join(r.folder, "p.png"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.folder, "large.png"), picture(t, 700), 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.open(t)
	shown := func(f folded) int {
		n := 0
		for _, c := range f.Calls[len(f.Calls)-1].Content {
			if block, ok := c.(acp.ToolCallBlock); ok {
				if picture, ok := block.Content.(acp.ImageContent); ok && picture.Data == encoded && picture.MIMEType == "image/png" {
					n++
				}
			}
		}
		return n
	}
	if n := shown(ask(t, s, acp.Text(`[[call: view {"path":"p.png"}]] [[text: fine]]`))); n != 1 {
		t.Errorf("the client was shown %d pictures", n)
	}
	images, body := 0, string(r.double.Last().Body)
	for _, item := range r.double.Last().Items {
		images += len(item.Images)
	}
	if images != 1 || strings.Count(body, encoded[:64]) != 1 {
		t.Errorf("the model got %d pictures, and their bytes %d times", images, strings.Count(body, encoded[:64]))
	}
	seen := ask(t, s, acp.Text(`[[call: view {"path":"large.png"}]] [[text: fine]]`))
	if last := seen.Calls[len(seen.Calls)-1]; last.Status != acp.ToolCallFailed || !strings.Contains(r.told(t), "at most 1024 KiB") {
		t.Errorf("a large one ended as %q: %q", last.Status, r.told(t))
	}
	blind := connectScripted(t, acp.ClientOptions{}, func(o *agent.Options) { o.OpenModel = withoutImages(o.OpenModel) })
	if err := os.WriteFile(filepath.Join(blind.folder, "p.png"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := shown(ask(t, blind.open(t), acp.Text(`[[call: view {"path":"p.png"}]] [[text: fine]]`))); n != 1 {
		t.Errorf("the client of a blind model was shown %d pictures", n)
	}
	if told := blind.told(t); !strings.Contains(told, "[an image (image/png) was left out: this model takes no images]") ||
		strings.Contains(string(blind.double.Last().Body), encoded[:64]) {
		t.Errorf("the blind model got %q", told)
	}
}

// imageless is a model that takes no images.
type imageless struct{ model.Model }

func (m imageless) Info() model.Info {
	info := m.Model.Info()
	info.Images = false
	return info
}

func TestWhatIsNotAdvertisedIsRefusedByItsPlaceAndThePromptAfterItWorks(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	if caps := r.Capabilities().PromptCapabilities; caps.Audio || !caps.Image || !caps.EmbeddedContext {
		t.Errorf("advertised: %+v", caps)
	}
	s := r.open(t)
	for name, block := range map[string]acp.ContentBlock{
		"prompt[1].data":          acp.ImageContent{MIMEType: "image/png", Data: "%"},
		"prompt[1].mimeType":      acp.ImageContent{MIMEType: "text/plain", Data: "AAAA"},
		"prompt[1].resource.blob": acp.EmbeddedResource{Resource: acp.BlobResourceContents{URI: "file:///x", Blob: "%"}},
	} {
		_, err := s.Prompt(t.Context(), acp.Text(answer), block).Result()
		wantCode(t, name, err, acp.CodeInvalidParams)
		if err != nil && !strings.Contains(err.Error(), name+":") {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	// Our own client does not even send these.
	for _, block := range []acp.ContentBlock{acp.Audio("audio/wav", []byte("RIFF")), acp.UnknownContentBlock{}} {
		_, err := promptIn([]acp.ContentBlock{acp.Text("x"), block}, false)
		wantCode(t, "not offered", err, acp.CodeInvalidParams)
		if err != nil && !strings.Contains(err.Error(), "prompt[1]") {
			t.Errorf("%v does not name prompt[1]", err)
		}
	}
	if told := ask(t, s, acp.Text(answer)).text("agent"); told != "fine" {
		t.Errorf("the prompt after it was answered %q", told)
	}
}

func TestAudioIsOfferedWhenAModelThatCanBeChosenTakesIt(t *testing.T) {
	hears := model.Info{Provider: "gemini", Name: "g", Audio: true}
	for name, c := range map[string]struct {
		choices []agent.ModelChoice
		want    bool
	}{
		"one that hears":                {[]agent.ModelChoice{{Info: hears}}, true},
		"one that hears but has no key": {[]agent.ModelChoice{{Info: hears, Unavailable: "no key"}}, false},
	} {
		r := connectScripted(t, acp.ClientOptions{}, func(o *agent.Options) {
			o.Models = func() []agent.ModelChoice { return c.choices }
		})
		if got := r.Capabilities().PromptCapabilities.Audio; got != c.want {
			t.Errorf("%s: offered %t", name, got)
		}
		if !c.want {
			continue
		}
		// The session's own model does not, and says so.
		if told := ask(t, r.open(t), acp.Text(answer), acp.Audio("audio/wav", []byte("RIFF"))).text("agent"); !strings.Contains(told, "takes no audio") {
			t.Errorf("%s: the person was told %q", name, told)
		}
	}
}

func TestEveryChunkHasTheIDOfItsMessageLiveAndInTheReplay(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	s := r.open(t)
	script := `[[thought: hm]] [[text: first]] [[call: view {"path":"missing"}]] [[text: second]]`
	turn := s.Prompt(t.Context(), acp.Text(script), acp.ResourceLink{Name: "x", URI: "https://x"})
	var live []acp.SessionUpdate
	for u := range turn.Updates() {
		live = append(live, u)
	}
	if _, err := turn.Result(); err != nil {
		t.Fatal(err)
	}
	second := connectTo(t, r.store, r.folder, acp.ClientOptions{})
	load := second.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	var replayed []acp.SessionUpdate
	for u := range load.Updates() {
		replayed = append(replayed, u)
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	ids := func(updates []acp.SessionUpdate) string {
		var out []string
		add := func(kind string, c acp.ContentChunk) {
			if c.MessageID == "" {
				t.Errorf("a chunk without id: %+v", c)
			}
			if entry := kind + " " + string(c.MessageID); len(out) == 0 || out[len(out)-1] != entry {
				out = append(out, entry)
			}
		}
		for _, u := range updates {
			switch u := u.(type) {
			case acp.UserMessageChunk:
				add("user", acp.ContentChunk(u))
			case acp.AgentMessageChunk:
				add("agent", acp.ContentChunk(u))
			case acp.AgentThoughtChunk:
				add("thought", acp.ContentChunk(u))
			}
		}
		return strings.Join(out, "\n")
	}
	got, want := ids(replayed), ids(live)
	if _, rest, _ := strings.Cut(got, "\n"); !strings.HasPrefix(got, "user ") || rest != want || strings.Count(want, "\n") < 3 {
		t.Errorf("replayed:\n%s\nlive:\n%s", got, want)
	}
}

// withoutImages opens models that take no images.
func withoutImages(open func(context.Context, string) (model.Model, error)) func(context.Context, string) (model.Model, error) {
	return func(ctx context.Context, id string) (model.Model, error) {
		m, err := open(ctx, id)
		return imageless{m}, err
	}
}
