//go:build unix

package editors

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// open opens a session with these servers, as they stand on the wire; "" for no member at all. It gives the session's id,
// or the error's message.
func (l *lines) open(id int, folder, servers string) (session, failure string) {
	l.t.Helper()
	return l.openBy("session/new", "", id, folder, servers)
}

func (l *lines) openBy(method, session string, id int, folder, servers string) (opened, failure string) {
	l.t.Helper()
	if servers != "" {
		servers = `,"mcpServers":` + servers
	}
	if session != "" {
		servers += `,"sessionId":` + quoted(session)
	}
	l.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"cwd":%s%s}}`, id, method, quoted(folder), servers))
	m := l.until(answers(float64(id)))
	if e, ok := m["error"].(map[string]any); ok {
		return "", fmt.Sprint(e["code"], " ", e["message"])
	}
	result, _ := m["result"].(map[string]any)
	if opened, _ = result["sessionId"].(string); opened == "" {
		opened = session
	}
	return opened, ""
}

// say runs a turn to its end, with every permission given.
func (l *lines) say(id int, session, text string) {
	l.t.Helper()
	l.write(prompt(fmt.Sprint(id), session, text))
	l.until(func(m map[string]any) bool {
		if m["method"] == "session/request_permission" {
			raw, _ := json.Marshal(m["id"]) // it came as JSON
			l.write(`{"jsonrpc":"2.0","id":` + string(raw) + `,"result":{"outcome":{"outcome":"selected","optionId":` + quoted(optionOf(m, "allow_once")) + `}}}`)
		}
		return answers(float64(id))(m)
	})
}

// optionOf is the id of an option of this kind in a permission request.
func optionOf(m map[string]any, kind string) string {
	params, _ := m["params"].(map[string]any)
	options, _ := params["options"].([]any)
	for _, o := range options {
		if o, ok := o.(map[string]any); ok && o["kind"] == kind {
			id, _ := o["optionId"].(string)
			return id
		}
	}
	return ""
}

// offered are the names of the tools in the model's newest request, as far as they are a server's.
func (d *desk) offered() (names []string) {
	for _, tool := range d.model.Last().Tools {
		if strings.Contains(tool.Name, "__") {
			names = append(names, tool.Name)
		}
	}
	return names
}

// tidesOnTheWire is the server with these further members.
func tidesOnTheWire(t *testing.T, more string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return `{"name":"tides","command":` + quoted(self) + `,"args":["` + serverCommand + `"]` + more + `}`
}

// remoteTides serves tides over a transport, and gives the headers of each request.
func remoteTides(t *testing.T, transport string) (address string, headers func() []http.Header) {
	t.Helper()
	server := tidesServer()
	get := func(*http.Request) *mcp.Server { return server }
	var handler http.Handler = mcp.NewStreamableHTTPHandler(get, nil)
	if transport == "sse" {
		handler = mcp.NewSSEHandler(get, nil)
	}
	seen := make(chan http.Header, 1000)
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Clone()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
		at.CloseClientConnections()
		at.Close()
	})
	return at.URL, func() (all []http.Header) {
		for len(seen) > 0 {
			all = append(all, <-seen)
		}
		return all
	}
}

func TestServersAreTakenInEveryFormThatEditorsSendThem(t *testing.T) {
	l, d := speak(t)
	l.begin(d.folder)
	id := 10
	for _, tt := range []struct {
		name, servers string
		offered       bool
		key           bool
	}{
		{"a list of variables", "[" + tidesOnTheWire(t, `,"env":[{"name":"TIDES_KEY","value":"of-the-sea"}]`) + "]", true, true},
		{"an object of variables", "[" + tidesOnTheWire(t, `,"env":{"TIDES_KEY":"of-the-sea"}`) + "]", true, true},
		{"an empty object", "[" + tidesOnTheWire(t, `,"env":{}`) + "]", true, false},
		{"no variables", "[" + tidesOnTheWire(t, ``) + "]", true, false},
		{"null", "[" + tidesOnTheWire(t, `,"env":null`) + "]", true, false},
		{"with its type", "[" + tidesOnTheWire(t, `,"type":"stdio","env":[]`) + "]", true, false},
		{"no arguments", `[{"name":"true","command":"true"}]`, false, false},
		{"no list", "", false, false},
		{"null for the list", "null", false, false},
	} {
		s, failure := l.open(id, d.folder, tt.servers)
		if failure != "" {
			t.Errorf("%s: %s", tt.name, failure)
			continue
		}
		from := len(l.got)
		l.say(id+1, s, "[[text: hello]]")
		if got := slices.Contains(d.offered(), "tides__tide"); got != tt.offered {
			t.Errorf("%s: offered are %v", tt.name, d.offered())
		}
		if tt.offered {
			l.say(id+2, s, `[[anew]] [[call: tides__tide {"place":"Wells"}]] [[result]]`)
			said := strings.Join(l.got[from:], "\n")
			if !strings.Contains(said, "Wells: at noon") || strings.Contains(said, "[value of TIDES_KEY]") != tt.key {
				t.Errorf("%s: %s", tt.name, said)
			}
		}
		id += 3
	}
	for _, transport := range []string{"http", "sse"} {
		for form, want := range map[string]string{
			`,"headers":[{"name":"X-Tide","value":"spring"}]`: "spring", `,"headers":{"X-Tide":"spring"}`: "spring", `,"headers":{}`: "", ``: "", `,"headers":null`: "",
		} {
			address, headers := remoteTides(t, transport)
			s, failure := l.open(id, d.folder, `[{"type":"`+transport+`","name":"far","url":`+quoted(address)+form+`}]`)
			if failure != "" {
				t.Errorf("%s %s: %s", transport, form, failure)
				continue
			}
			from := len(l.got)
			l.say(id+1, s, `[[anew]] [[call: far__tide {"place":"Wells"}]] [[result]]`)
			if said := strings.Join(l.got[from:], "\n"); !strings.Contains(said, "Wells: at noon") {
				t.Errorf("%s %s: %s", transport, form, said)
			}
			all := headers()
			if len(all) == 0 || slices.ContainsFunc(all, func(h http.Header) bool { return h.Get("X-Tide") != want }) {
				t.Errorf("%s %s: %d requests, the headers were %v", transport, form, len(all), all)
			}
			l.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/close","params":{"sessionId":%s}}`, id+2, quoted(s)))
			l.until(answers(float64(id + 2)))
			id += 3
		}
	}
	if _, failure := l.open(id, d.folder, `[{"type":"carrier-pigeon","name":"coo","url":"x"}]`); !strings.HasPrefix(failure, "-32602") || !strings.Contains(failure, "mcpServers[0]") {
		t.Errorf("a server that nobody can reach was answered with %q", failure)
	}
}

func TestServersAreThereHoweverTheSessionIsOpened(t *testing.T) {
	l, d := speak(t)
	s := l.begin(d.folder)
	l.say(2, s, "[[text: hello]]")
	if got := d.offered(); len(got) != 0 {
		t.Errorf("without servers, offered are %v", got)
	}
	servers := "[" + tidesOnTheWire(t, "") + "]"
	for i, method := range []string{"session/load", "session/resume", "session/fork"} {
		l.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/close","params":{"sessionId":%s}}`, 10*i+10, quoted(s)))
		l.until(answers(float64(10*i + 10)))
		opened, failure := l.openBy(method, s, 10*i+11, d.folder, servers)
		if failure != "" {
			t.Fatalf("%s: %s", method, failure)
		}
		l.say(10*i+12, opened, "[[anew]] [[text: hello]]")
		if got := d.offered(); !slices.Equal(got, []string{"tides__tide"}) {
			t.Errorf("%s: offered are %v", method, got)
		}
		if method == "session/fork" {
			continue
		}
		if _, failure = l.openBy(method, s, 10*i+13, d.folder, "[]"); failure != "" { // opened again without them
			t.Fatalf("%s: %s", method, failure)
		}
		l.say(10*i+14, s, "[[anew]] [[text: hello]]")
		if got := d.offered(); len(got) != 0 {
			t.Errorf("%s without servers: offered are %v", method, got)
		}
	}
}

func TestServersOfOneSessionAreNoneOfAnothers(t *testing.T) {
	l, d := speak(t)
	bare := l.begin(d.folder)
	address, headers := remoteTides(t, "http")
	far := func(key string) string {
		return `[{"type":"http","name":"far","url":` + quoted(address) + `,"headers":[{"name":"Authorization","value":"Bearer ` + key + `"}]}]`
	}
	one, _ := l.open(2, d.folder, "["+tidesOnTheWire(t, "")+"]")
	two, _ := l.open(3, d.folder, far("of-two-0123456789"))
	l.say(4, one, "[[text: hello]]")
	if got := d.offered(); !slices.Equal(got, []string{"tides__tide"}) {
		t.Errorf("the first is offered %v", got)
	}
	l.say(5, two, `[[call: far__tide {"place":"Wells"}]] [[text: hello]]`)
	if got := d.offered(); !slices.Equal(got, []string{"far__tide"}) {
		t.Errorf("the second is offered %v", got)
	}
	l.say(6, bare, `[[call: tides__tide {"place":"Wells"}]] [[call: far__tide {"place":"Wells"}]] [[result]]`)
	if got := d.offered(); len(got) != 0 {
		t.Errorf("the one without servers is offered %v", got)
	}
	from := len(l.got)
	l.say(7, bare, "/mcp")
	if said := strings.Join(l.got[from:], "\n"); !strings.Contains(said, "no MCP servers") {
		t.Errorf("of its servers it says %s", said)
	}
	headers()
	three, _ := l.open(8, d.folder, far("of-three-0123456789"))
	l.say(9, three, `[[call: far__tide {"place":"Wells"}]] [[text: hello]]`)
	all := headers()
	if len(all) == 0 || slices.ContainsFunc(all, func(h http.Header) bool { return h.Get("Authorization") != "Bearer of-three-0123456789" }) {
		t.Errorf("the same server in another session got %v", all)
	}
}

func TestASilentServerDelaysNoSession(t *testing.T) {
	l, d := speak(t)
	l.begin(d.folder)
	silent := make(chan struct{})
	at := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	defer at.Close()
	defer close(silent)
	since := time.Now()
	s, failure := l.open(2, d.folder, `[{"type":"http","name":"mute","url":`+quoted(at.URL)+`},`+tidesOnTheWire(t, "")+`]`)
	if d := time.Since(since); failure != "" || d > 5*time.Second {
		t.Fatalf("session/new took %v, %s", d, failure)
	}
	l.say(3, s, "[[text: hello]]")
	if got := d.offered(); !slices.Equal(got, []string{"tides__tide"}) {
		t.Errorf("offered are %v", got)
	}
	if body := string(d.model.Last().Body); !strings.Contains(body, "mute (still starting)") {
		t.Error("the model does not know that a server is missing")
	}
}

func TestWhatServersAreGivenIsNowhereToBeRead(t *testing.T) {
	const key, header, setting = "canary-key-5d1f0c3b77aa", "canary-header-90aa17cc12", "canary-setting-1234567"
	logged := func(d *desk) []string {
		return append(d.environment(), "WHERRY_LOG="+filepath.Join(d.home, "wherry.log"), "WHERRY_WIRE_LOG="+filepath.Join(d.home, "wire.log"))
	}
	l, d := speakWith(t, logged)
	l.begin(d.folder)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // it says what it gets
		http.Error(w, fmt.Sprint(r.Header), http.StatusTeapot)
	}))
	defer echo.Close()
	env := `"env":[{"name":"TIDES_KEY","value":"` + key + `"},{"name":"PLAIN","value":"` + setting + `"}]`
	headers := `"headers":[{"name":"Authorization","value":"Bearer ` + header + `"},{"name":"X-Plain","value":"` + setting + `"}]`
	s, failure := l.open(2, d.folder, `[`+tidesOnTheWire(t, ","+env)+
		`,{"name":"crash","command":"sh","args":["-c","env >&2; exit 3"],`+env+`}`+
		`,{"name":"noise","command":"sh","args":["-c","env; exit 3"],`+env+`}`+
		`,{"name":"absent","command":"/nonexistent/server",`+env+`}`+
		`,{"type":"http","name":"echo","url":`+quoted(echo.URL)+`,`+headers+`}`+
		`,{"type":"sse","name":"old","url":`+quoted(echo.URL)+`,`+headers+`}]`)
	if failure != "" {
		t.Fatal(failure)
	}
	l.say(3, s, `[[call: tides__tide {"place":"Wells"}]] [[result]]`)
	l.say(4, s, "/mcp")
	l.say(5, s, "/status")
	if _, failure := l.open(6, d.folder, `[{"name":"bad\u0000","command":"sh",`+env+`}]`); failure == "" || strings.Contains(failure, "canary") {
		t.Errorf("what cannot be a server was answered with %q", failure)
	}
	l.in.Close()
	for l.out.Scan() {
		l.got = append(l.got, l.out.Text())
	}
	if err := l.cmd.Wait(); err != nil {
		t.Error(err)
	}
	said := strings.Join(l.got, "\n")
	for _, want := range []string{"Wells: at noon, [value of TIDES_KEY]", "crash", "noise", "absent", "echo", "old"} {
		if !strings.Contains(said, want) {
			t.Errorf("there is too little to see: no %q", want)
		}
	}
	places := map[string]string{"stdout": said, "stderr": l.stderr.String()}
	for _, format := range []string{"md", "jsonl"} {
		export := exec.Command(wherry, "sessions", "export", s, "--format", format)
		export.Env = d.environment()
		out, err := export.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "at noon") {
			t.Fatalf("%v: %s", err, out)
		}
		places["the export as "+format] = string(out)
	}
	for _, req := range d.model.Requests() {
		places["a request to the model"] += string(req.Body)
	}
	err := filepath.WalkDir(d.home, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			places[path] = d.savedAt(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"wherry.log", "wire.log"} {
		if len(places[filepath.Join(d.home, name)]) < 100 {
			t.Errorf("%s has next to nothing", name)
		}
	}
	for where, text := range places {
		for _, canary := range []string{key, header, setting} {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("%q is in %s: …%s…", canary, where, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}
