package modeltest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Dialect names a wire format.
type Dialect string

// The wire formats.
const (
	OpenAIChat      Dialect = "openai-chat"
	OpenAIResponses Dialect = "openai-responses"
	Anthropic       Dialect = "anthropic"
	Gemini          Dialect = "gemini"
)

// Options configure a [Server]. The zero value works.
type Options struct {
	// Addr is where to listen; "127.0.0.1:0" if empty.
	Addr string
	// Default answers what no directive and no queued reply answers. It may hold directives; "ok" if empty.
	Default string
	// Rules give directives to prompts that hold none of their own.
	Rules []Rule
	// Models are listed by the endpoints for that; "fake" if empty. A request for another model is answered all the
	// same, unless its name begins with "missing": then it is 404.
	Models []string
	// Key, if set, is the only API key that is taken. Others get 401.
	Key string
	// NeedTools gives Default to every request that offers no tools: agents ask for titles, routing and summaries that
	// way, and quote the prompt with its directives.
	NeedTools bool
}

// Rule answers every prompt that contains When (and has no directives) with the directives in Script.
type Rule struct{ When, Script string }

// Server is the double. Its methods are safe for concurrent use.
type Server struct {
	// URL is the server's root, without a path: http://127.0.0.1:PORT. OpenAI clients add /v1 to it.
	URL string

	opts    Options
	http    *http.Server
	ctx     context.Context
	cancel  context.CancelFunc
	busy    sync.WaitGroup
	callIDs atomic.Int64

	mu       sync.Mutex
	closed   bool
	queue    []reply
	requests []*Request
	arrived  chan struct{}    // closed and renewed with each request
	refused  map[[32]byte]int // how many [[status]] directives this very request was already answered with
}

// reply is a queued answer: directives, or a handler for bytes of the test's own.
type reply struct {
	steps   []step
	handler http.Handler
}

// Request is one that the server received.
type Request struct {
	Conversation
	Dialect Dialect
	Path    string
	Header  http.Header
	Body    []byte

	gone chan struct{}
	done chan struct{}
}

// Gone is closed when the client leaves before its answer is complete.
func (r *Request) Gone() <-chan struct{} { return r.gone }

// Done is closed when the server is finished with the request, for whatever reason.
func (r *Request) Done() <-chan struct{} { return r.done }

// NewServer starts a server on a free port of the loopback interface, or panics. Close it at the end.
func NewServer() *Server {
	s, err := Listen(Options{})
	if err != nil {
		panic(err)
	}
	return s
}

// Listen starts a server. Close it at the end.
func Listen(opts Options) (*Server, error) {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	if opts.Default == "" {
		opts.Default = "ok"
	}
	if len(opts.Models) == 0 {
		opts.Models = []string{"fake"}
	}
	for _, rule := range opts.Rules {
		if _, err := parse(rule.Script); err != nil {
			return nil, fmt.Errorf("rule for %q: %w", rule.When, err)
		}
	}
	ln, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for model requests: %w", err)
	}
	s := &Server{URL: "http://" + ln.Addr().String(), opts: opts, refused: map[[32]byte]int{}, arrived: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	s.busy.Go(func() { _ = s.http.Serve(ln) })
	return s, nil
}

// Close ends all requests and waits for their handlers.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	_ = s.http.Close()
	s.busy.Wait()
}

// Queue adds replies for requests whose prompt holds no directives. Each script is one or more completions in directives;
// text without any is said as it is. It panics on a malformed directive.
func (s *Server) Queue(scripts ...string) {
	for _, script := range scripts {
		steps, err := stepsOf(script)
		if err != nil {
			panic(err)
		}
		s.mu.Lock()
		for _, c := range completions(steps) {
			s.queue = append(s.queue, reply{steps: c})
		}
		s.mu.Unlock()
	}
}

// QueueHandler adds a reply that is written by h, for answers that no directive makes.
func (s *Server) QueueHandler(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, reply{handler: h})
}

// Requests are the model requests received so far, in order of arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Last is the latest model request, nil before the first.
func (s *Server) Last() *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		return nil
	}
	return s.requests[len(s.requests)-1]
}

// Await waits until n model requests have arrived, and gives the n-th. It fails when ctx ends.
func (s *Server) Await(ctx context.Context, n int) (*Request, error) {
	for {
		s.mu.Lock()
		arrived := s.arrived
		if n <= len(s.requests) {
			defer s.mu.Unlock()
			return s.requests[n-1], nil
		}
		s.mu.Unlock()
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for request %d: %w", n, ctx.Err())
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.busy.Add(1)
	s.mu.Unlock()
	defer s.busy.Done()
	d := dialectOf(r.URL.Path)
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if !s.authorized(r) {
			writeJSON(w, http.StatusUnauthorized, chat{}.failure(http.StatusUnauthorized, ""))
			return
		}
		s.list(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 256<<20))
	if err != nil {
		return
	}
	if strings.HasSuffix(r.URL.Path, "/count_tokens") || strings.HasSuffix(r.URL.Path, ":countTokens") {
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": len(body) / 4, "totalTokens": len(body) / 4})
		return
	}
	if d == nil {
		writeJSON(w, http.StatusNotFound, chat{}.failure(http.StatusNotFound, ""))
		return
	}
	conv, err := d.read(r, body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, d.failure(http.StatusBadRequest, err.Error()))
		return
	}
	req := &Request{Conversation: *conv, Dialect: d.name(), Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body,
		gone: make(chan struct{}), done: make(chan struct{})}
	s.mu.Lock()
	req.answer = fmt.Sprintf("double_%06d", len(s.requests)+1)
	s.requests = append(s.requests, req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.ctx, cancel)
	finished := false
	defer func() {
		if !finished && r.Context().Err() != nil && s.ctx.Err() == nil {
			close(req.gone)
		}
		stop()
		cancel()
		close(req.done)
	}()
	switch {
	case !s.authorized(r):
		writeJSON(w, http.StatusUnauthorized, d.failure(http.StatusUnauthorized, ""))
	case strings.HasPrefix(conv.Model, "missing"):
		writeJSON(w, http.StatusNotFound, d.failure(http.StatusNotFound, ""))
	default:
		finished = s.answer(ctx, w, r, d, req)
		return
	}
	finished = true
}

// answer picks the completion and performs it. It tells whether the answer went out whole.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, d dialect, req *Request) bool {
	steps, handler, err := s.pick(&req.Conversation)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, d.failure(http.StatusBadRequest, err.Error()))
		return true
	}
	if handler != nil {
		handler.ServeHTTP(w, r.WithContext(ctx))
		return ctx.Err() == nil
	}
	if st, ok := s.nextStatus(sha256.Sum256(append([]byte(req.Path), req.Body...)), steps); ok {
		if st.size >= 0 {
			w.Header().Set("Retry-After", fmt.Sprint(st.size))
		}
		writeJSON(w, st.n, d.failure(st.n, st.text))
		return true
	}
	if len(steps) > 0 && steps[0].op == "html" {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>Sign in</title><p>Welcome to the hotel network")
		return true
	}
	p := &player{ctx: ctx, http: w, dialect: d, conv: &req.Conversation, nextID: s.callIDs.Add}
	return p.play(steps)
}

// pick finds what to answer: the prompt's directives, a queued reply, or the default.
func (s *Server) pick(conv *Conversation) ([]step, http.Handler, error) {
	plain, err := stepsOf(s.opts.Default)
	if err != nil {
		return nil, nil, err
	}
	if conv.Schema != nil {
		var sc schema
		_ = json.Unmarshal(conv.Schema, &sc)
		if !sc.is("object") && len(sc.Properties) == 0 {
			return []step{{op: "text", text: "{}"}}, nil, nil
		}
		out, err := json.Marshal(sc.sample(0))
		return []step{{op: "text", text: string(out)}}, nil, err
	}
	if s.opts.NeedTools && len(conv.Tools) == 0 {
		return plain, nil, nil
	}
	steps, done, err := conv.script(s.expand)
	if err != nil {
		return nil, nil, err
	}
	if len(steps) > 0 {
		if len(conv.Tools) == 0 && slices.ContainsFunc(steps, step.isCall) {
			return plain, nil, nil
		}
		all := completions(steps)
		if done >= len(all) {
			return plain, nil, nil
		}
		return all[done], nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		return next.steps, next.handler, nil
	}
	return plain, nil, nil
}

// expand reads the directives of a user's text, or those of the rule that it matches.
func (s *Server) expand(text string) ([]step, error) {
	steps, err := parse(text)
	if err != nil || len(steps) > 0 {
		return steps, err
	}
	for _, rule := range s.opts.Rules {
		if strings.Contains(text, rule.When) {
			return stepsOf(rule.Script)
		}
	}
	return nil, nil
}

// stepsOf reads a script: directives, or plain text to be said.
func stepsOf(script string) ([]step, error) {
	steps, err := parse(script)
	if err == nil && len(steps) == 0 {
		steps = []step{{op: "text", text: script}}
	}
	return steps, err
}

// nextStatus gives the next failing status that this very request has not been answered with yet. When all are used up
// the count starts again, so that the same prompt does the same on another day.
func (s *Server) nextStatus(key [32]byte, steps []step) (step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, st := range steps {
		if st.op != "status" {
			continue
		}
		if st.name == "always" {
			return st, true
		}
		if n == s.refused[key] {
			s.refused[key]++
			return st, true
		}
		n++
	}
	delete(s.refused, key)
	return step{}, false
}

// authorized checks the key where the server has one.
func (s *Server) authorized(r *http.Request) bool {
	if s.opts.Key == "" {
		return true
	}
	given := []string{strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("X-Api-Key"),
		r.Header.Get("X-Goog-Api-Key"), r.URL.Query().Get("key")}
	return slices.Contains(given, s.opts.Key)
}

// list answers the GET endpoints: the models, in the shape of all providers at once.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.URL.Path, "/models") && !strings.HasSuffix(r.URL.Path, "/tags") {
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok"})
		return
	}
	var data, models []map[string]any
	for _, m := range s.opts.Models {
		data = append(data, map[string]any{"id": m, "object": "model", "type": "model", "display_name": m,
			"created": 1700000000, "created_at": "2025-01-01T00:00:00Z", "owned_by": "modeltest"})
		models = append(models, map[string]any{"name": "models/" + m, "model": m, "displayName": m,
			"inputTokenLimit": 100000, "outputTokenLimit": 8000, "supportedGenerationMethods": []string{"generateContent"}})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "has_more": false, "models": models})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
