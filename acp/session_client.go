package acp

import (
	"context"
	"strings"
	"unicode/utf8"
)

// A SessionClient is the client as one session of the agent sees it: what to show in that session, and what to ask of the
// client on its behalf. It is a small value, made by Client.Session and SessionFrom, that may be copied and used
// concurrently. Its updates arrive in the order of the calls, with those of Client.Update.
type SessionClient struct {
	client *Client
	id     SessionID
}

// Session returns the client as the session sees it. Nothing is sent, and nothing checks that the session exists.
func (c *Client) Session(id SessionID) SessionClient { return SessionClient{c, id} }

// SessionFrom returns the client as the session of a handler's request sees it: the session that a prompt, a load or
// a change of mode is about. It panics if ctx is not the context of a request handler, or if the request
// names no session (session/new: use Client.Session with the new id).
func SessionFrom(ctx context.Context) SessionClient {
	scope, ok := ctx.Value(requestKey{}).(*requestScope)
	if !ok {
		panic("acp: SessionFrom needs the context of a request handler")
	}
	id := SessionID(sessionOf(scope.request.Params))
	if id == "" {
		panic("acp: SessionFrom needs a request about a session, " + scope.request.Method + " is none")
	}
	return ClientFrom(ctx).Session(id)
}

// ID returns the session's id.
func (s SessionClient) ID() SessionID { return s.id }

// Client returns the client.
func (s SessionClient) Client() *Client { return s.client }

// Update sends any update (session/update); see Client.Update.
func (s SessionClient) Update(ctx context.Context, update SessionUpdate) error {
	return s.client.Update(ctx, s.id, update)
}

// SendText shows text as the agent's answer. Texts that follow each other belong to one message; a message that may be
// interrupted, or replayed later, gets an id from MessageWriter.
func (s SessionClient) SendText(ctx context.Context, text string) error {
	return s.Update(ctx, AgentMessageChunk{Content: Text(text)})
}

// SendThought shows text as the agent's reasoning.
func (s SessionClient) SendThought(ctx context.Context, text string) error {
	return s.Update(ctx, AgentThoughtChunk{Content: Text(text)})
}

// MessageWriter begins a message of the agent that is sent in pieces. The writes are bounded by ctx.
func (s SessionClient) MessageWriter(ctx context.Context) *MessageWriter {
	return &MessageWriter{ctx: ctx, session: s, id: NewMessageID(), as: func(c ContentChunk) SessionUpdate { return AgentMessageChunk(c) }}
}

// ThoughtWriter begins reasoning of the agent that is sent in pieces. The writes are bounded by ctx.
func (s SessionClient) ThoughtWriter(ctx context.Context) *MessageWriter {
	return &MessageWriter{ctx: ctx, session: s, id: NewMessageID(), as: func(c ContentChunk) SessionUpdate { return AgentThoughtChunk(c) }}
}

// UserMessageWriter begins a message of the user that is shown again, when a session is loaded. A prompt that is being
// answered is not echoed: the client shows it already. The writes are bounded by ctx.
func (s SessionClient) UserMessageWriter(ctx context.Context) *MessageWriter {
	return &MessageWriter{ctx: ctx, session: s, id: NewMessageID(), as: func(c ContentChunk) SessionUpdate { return UserMessageChunk(c) }}
}

// SendPlan shows the agent's plan: all entries, in the place of those before.
func (s SessionClient) SendPlan(ctx context.Context, entries ...PlanEntry) error {
	return s.Update(ctx, Plan{Entries: entries})
}

// SendCommands tells which slash commands the session has: all of them, in the place of those before. After session/new
// send them with AfterResponse: before its answer the client does not know the session.
func (s SessionClient) SendCommands(ctx context.Context, commands ...AvailableCommand) error {
	return s.Update(ctx, AvailableCommandsUpdate{AvailableCommands: commands})
}

// SendUsage tells how many tokens of the model's context are used, and how many it has. To tell the cost as well, send a
// UsageUpdate.
func (s SessionClient) SendUsage(ctx context.Context, used, size uint64) error {
	return s.Update(ctx, UsageUpdate{Used: used, Size: size})
}

// SendTitle names the session; an empty title takes the name away.
func (s SessionClient) SendTitle(ctx context.Context, title string) error {
	u := SessionInfoUpdate{Title: PatchSet(title)}
	if title == "" {
		u.Title = PatchClear[string]()
	}
	return s.Update(ctx, u)
}

// SendMode tells that the session's mode has changed without the client's asking.
func (s SessionClient) SendMode(ctx context.Context, mode SessionModeID) error {
	return s.Update(ctx, CurrentModeUpdate{CurrentModeID: mode})
}

// SendConfigOptions tells that options have changed without the client's asking: all options, in the place of those before.
// Boolean options are left out for a client that does not know them.
func (s SessionClient) SendConfigOptions(ctx context.Context, options ...SessionConfigOption) error {
	return s.Update(ctx, ConfigOptionUpdate{ConfigOptions: options})
}

// SendNotice shows something worth knowing that is not part of the conversation; description may be empty. A client that
// does not show notices is no error: a notice carries nothing that is needed.
func (s SessionClient) SendNotice(ctx context.Context, severity NoticeSeverity, title, description string) error {
	if !s.client.Can("clientCapabilities.session.notices") {
		return nil
	}
	return s.Update(ctx, Notice{Severity: severity, Title: title, Description: description})
}

// AskPermission asks the user for a tool call (session/request_permission). Its id alone is enough for a client that
// remembers what was announced; [ToolCallTracker.AskPermission] shows every client what is asked about. allowed is whether the user chose an option that was offered and that allows; remember is
// whether the answer is meant for the next time, too. Without options the choice is to allow it once or to reject it
// once. See Client.RequestPermission for the errors.
func (s SessionClient) AskPermission(ctx context.Context, call ToolCallUpdate, options ...PermissionOption) (allowed, remember bool, err error) {
	if len(options) == 0 {
		options = []PermissionOption{
			{OptionID: "allow", Name: "Allow", Kind: PermissionAllowOnce},
			{OptionID: "reject", Name: "Reject", Kind: PermissionRejectOnce},
		}
	}
	req := RequestPermissionRequest{SessionID: s.id, ToolCall: call, Options: options}
	resp, err := s.client.RequestPermission(ctx, req)
	if err != nil {
		return false, false, err
	}
	allowed, remember = PermissionDecision(req, resp)
	return allowed, remember, nil
}

// ReadTextFile reads a whole file as the client sees it, with unsaved changes (fs/read_text_file). The path is
// absolute.
func (s SessionClient) ReadTextFile(ctx context.Context, path string) (string, error) {
	r, err := s.client.ReadTextFile(ctx, ReadTextFileRequest{SessionID: s.id, Path: path})
	return r.Content, err
}

// WriteTextFile writes a whole file through the client (fs/write_text_file). The path is absolute.
func (s SessionClient) WriteTextFile(ctx context.Context, path, content string) error {
	_, err := s.client.WriteTextFile(ctx, WriteTextFileRequest{SessionID: s.id, Path: path, Content: content})
	return err
}

// NewTerminal starts a command in the client (terminal/create); the request's session is filled in. Close must be
// called. See Client.NewTerminal.
func (s SessionClient) NewTerminal(ctx context.Context, req CreateTerminalRequest) (*Terminal, error) {
	req.SessionID = s.id
	return s.client.NewTerminal(ctx, req)
}

// A MessageWriter sends one message in pieces, each write a chunk, all with the same message id. It is an io.Writer of
// UTF-8 text and for one goroutine.
type MessageWriter struct {
	ctx     context.Context // of the handler that writes, as an io.Writer has none
	session SessionClient
	id      MessageID
	as      func(ContentChunk) SessionUpdate
	rest    []byte // the beginning of a character whose end has not been written
}

// ID returns the message's id.
func (w *MessageWriter) ID() MessageID { return w.id }

// Write sends text. A character that is cut by the end of p is held back until the rest of it is written; bytes that are
// not UTF-8 become U+FFFD. An error means that the connection or the writer's context has ended.
func (w *MessageWriter) Write(p []byte) (int, error) {
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
		w.rest = nil
	}
	cut := len(text) - incomplete(text)
	if cut > 0 {
		if err := w.Block(Text(strings.ToValidUTF8(string(text[:cut]), "\uFFFD"))); err != nil {
			return 0, err
		}
	}
	w.rest = append(w.rest, text[cut:]...)
	return len(p), nil
}

// WriteString is Write for a string.
func (w *MessageWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Block sends a block that belongs to the message: an image, a link, text.
func (w *MessageWriter) Block(block ContentBlock) error {
	return w.session.Update(w.ctx, w.as(ContentChunk{Content: block, MessageID: w.id}))
}

// incomplete returns how many bytes at the end of b begin a character that b does not end.
func incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
