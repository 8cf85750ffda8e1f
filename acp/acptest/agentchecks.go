package acptest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/wherry-acp/wherry/acp"
)

// handshakeChecks are about the handshake and about messages that are not in order.
func handshakeChecks() []agentCheck {
	return []agentCheck{
		{name: "what is advertised is implemented, and what is implemented can be called", run: func(_ context.Context, s *subject) error {
			return acp.Check(s.agent, s.opts.Agent)
		}},
		{name: "initialize is answered with version 1 and the agent's name", run: func(ctx context.Context, s *subject) error {
			d, err := s.connect()
			if err != nil {
				return err
			}
			return d.hello(ctx, acp.Version1)
		}},
		{name: "a client that asks for version 99 is answered with version 1", run: func(ctx context.Context, s *subject) error {
			d, err := s.connect()
			if err != nil {
				return err
			}
			return d.hello(ctx, 99)
		}},
		{name: "an initialize that cannot be read is refused, and the next one is answered", run: func(ctx context.Context, s *subject) error {
			d, err := s.connect()
			if err != nil {
				return err
			}
			if err := d.refused(ctx, acp.MethodInitialize, `{"protocolVersion":"one"}`, acp.CodeInvalidParams); err != nil {
				return err
			}
			return d.hello(ctx, acp.Version1)
		}},
		{name: "a request before initialize is refused", run: func(ctx context.Context, s *subject) error {
			d, err := s.connect()
			if err != nil {
				return err
			}
			if err := d.refused(ctx, acp.MethodSessionNew, acp.NewSessionRequest{Cwd: s.opts.Cwd}); err != nil {
				return err
			}
			return d.hello(ctx, acp.Version1)
		}},
		{name: "an unknown method is refused with -32601, and an unknown notification is not answered", run: func(ctx context.Context, s *subject) error {
			d, err := s.greet(ctx)
			if err != nil {
				return err
			}
			if err := d.notify(ctx, "acptest/unknown", `{}`); err != nil {
				return err
			}
			if err := d.refused(ctx, "acptest/unknown", `{}`, acp.CodeMethodNotFound); err != nil {
				return err
			}
			if err := d.ping(ctx); err != nil {
				return err
			}
			if len(d.complaints) > 0 {
				return fmt.Errorf("the notification is answered: %s", short(d.complaints[0].text))
			}
			return nil
		}},
		{name: "what is not advertised is refused with -32601", run: func(ctx context.Context, s *subject) error {
			d, err := s.connect()
			if err != nil {
				return err
			}
			var hello acp.InitializeResponse
			if err := d.want(ctx, acp.MethodInitialize, `{"protocolVersion":1}`, &hello); err != nil {
				return err
			}
			var all []error
			for _, m := range acp.Methods() {
				if m.Side != acp.AgentSide || m.Notification || m.Gate == "" || acp.HasCapability(m.Gate, nil, &hello.AgentCapabilities) {
					continue
				}
				if err := d.refused(ctx, m.Name, `{"sessionId":"acptest"}`, acp.CodeMethodNotFound); err != nil {
					all = append(all, fmt.Errorf("%s is not advertised: %w", m.Gate, err))
				}
			}
			return errors.Join(all...)
		}},
		{name: "params that cannot be read are refused with -32602", run: func(ctx context.Context, s *subject) error {
			d, err := s.greet(ctx)
			if err != nil {
				return err
			}
			return errors.Join(
				d.refused(ctx, acp.MethodSessionNew, `{"cwd":7,"mcpServers":[]}`, acp.CodeInvalidParams),
				d.refused(ctx, acp.MethodSessionNew, `[]`, acp.CodeInvalidParams),
				d.refused(ctx, acp.MethodSessionPrompt, `{"sessionId":"acptest"}`, acp.CodeInvalidParams),
			)
		}},
		{name: "garbage between messages harms nothing", run: func(ctx context.Context, s *subject) error {
			d, id, err := s.session(ctx)
			if err != nil {
				return err
			}
			for _, line := range []string{
				"a line of log output", `{"jsonrpc":"2.0","method":`, `[]`, `[1,2]`, `null`, `7`, `"text"`, `{}`, `{"jsonrpc":"1.0","id":987653,"method":"initialize"}`,
				`{"jsonrpc":"2.0","id":987654,"result":{}}`, "\xff\xfe", strings.Repeat("[", 20_000),
			} {
				if err := d.write(ctx, line); err != nil {
					return fmt.Errorf("after garbage: %w", err)
				}
			}
			if err := d.ping(ctx); err != nil {
				return fmt.Errorf("after garbage: %w", err)
			}
			if _, err := d.runPrompt(ctx, id, s.prompt()); err != nil {
				return fmt.Errorf("after garbage: %w", err)
			}
			return nil
		}},
	}
}

// hello shakes hands and checks the answer.
func (d *dialog) hello(ctx context.Context, version acp.ProtocolVersion) error {
	var r acp.InitializeResponse
	if err := d.want(ctx, acp.MethodInitialize, acp.InitializeRequest{ProtocolVersion: version}, &r); err != nil {
		return err
	}
	if r.ProtocolVersion != acp.Version1 {
		return fmt.Errorf("version %d is answered with version %d", version, r.ProtocolVersion)
	}
	if r.AgentInfo == nil || r.AgentInfo.Name == "" {
		return errors.New("the answer to initialize does not name the agent")
	}
	return nil
}

// sessionChecks are about sessions.
func sessionChecks() []agentCheck {
	return []agentCheck{
		{name: "each session has an id of its own", run: func(ctx context.Context, s *subject) error {
			d, first, err := s.session(ctx)
			if err != nil {
				return err
			}
			second, err := d.newSession(ctx, s.opts.Cwd)
			if err == nil && first == second {
				err = fmt.Errorf("two sessions have the id %q", first)
			}
			return err
		}},
		{name: "a relative folder is refused", stateful: true, run: func(ctx context.Context, s *subject) error {
			d, err := s.greet(ctx)
			if err != nil {
				return err
			}
			if err := d.refused(ctx, acp.MethodSessionNew, `{"cwd":"some/folder","mcpServers":[]}`); err != nil {
				return fmt.Errorf("with the relative folder some/folder: %w", err)
			}
			_, err = d.newSession(ctx, s.opts.Cwd)
			return err
		}},
		{name: "a prompt of an unknown session is refused", stateful: true, run: func(ctx context.Context, s *subject) error {
			d, err := s.greet(ctx)
			if err != nil {
				return err
			}
			return d.refused(ctx, acp.MethodSessionPrompt, acp.PromptRequest{SessionID: "acptest-unknown", Prompt: s.prompt()})
		}},
		{name: "an unknown session is refused where sessions can be loaded or resumed", stateful: true, run: func(ctx context.Context, s *subject) error {
			d, caps, err := s.advertised(ctx)
			if err != nil {
				return err
			}
			if caps.LoadSession {
				err = d.refused(ctx, acp.MethodSessionLoad, acp.LoadSessionRequest{SessionID: "acptest-unknown", Cwd: s.opts.Cwd})
			}
			if caps.SessionCapabilities.Resume != nil {
				err = errors.Join(err, d.refused(ctx, acp.MethodSessionResume, acp.ResumeSessionRequest{SessionID: "acptest-unknown", Cwd: s.opts.Cwd}))
			}
			return err
		}},
		{name: "sessions that are listed have an id and an absolute folder", run: func(ctx context.Context, s *subject) error {
			d, caps, err := s.advertised(ctx)
			if err != nil || caps.SessionCapabilities.List == nil {
				return err
			}
			if _, err := d.newSession(ctx, s.opts.Cwd); err != nil {
				return err
			}
			listed, err := d.list(ctx)
			if err != nil {
				return err
			}
			for _, l := range listed {
				if l.SessionID == "" || !filepath.IsAbs(l.Cwd) && !strings.HasPrefix(l.Cwd, "/") {
					err = errors.Join(err, fmt.Errorf("session %q is listed with the folder %q", l.SessionID, l.Cwd))
				}
			}
			return err
		}},
		{name: "a session that has had a turn is loaded with its replay, on a new connection too", run: func(ctx context.Context, s *subject) error {
			d, caps, err := s.advertised(ctx)
			if err != nil || !caps.LoadSession {
				return err
			}
			id, err := d.newSession(ctx, s.opts.Cwd)
			if err != nil {
				return err
			}
			if _, err := d.runPrompt(ctx, id, s.prompt()); err != nil {
				return err
			}
			if err := d.end(); err != nil {
				return err
			}
			if d, err = s.greet(ctx); err != nil {
				return err
			}
			var r acp.LoadSessionResponse
			if err := d.want(ctx, acp.MethodSessionLoad, acp.LoadSessionRequest{SessionID: id, Cwd: s.opts.Cwd}, &r); err != nil {
				return err
			}
			for _, u := range d.updates {
				if _, ok := u.Update.(acp.UserMessageChunk); ok && u.SessionID == id {
					return nil
				}
			}
			return fmt.Errorf("the prompt is not among the %d updates before the answer to session/load", len(d.updates))
		}},
		{name: "a session that is deleted is not listed any more", run: func(ctx context.Context, s *subject) error {
			d, caps, err := s.advertised(ctx)
			if err != nil || caps.SessionCapabilities.List == nil || caps.SessionCapabilities.Delete == nil {
				return err
			}
			id, err := d.newSession(ctx, s.opts.Cwd)
			if err != nil {
				return err
			}
			if _, err := d.runPrompt(ctx, id, s.prompt()); err != nil {
				return err
			}
			var r acp.DeleteSessionResponse
			if err := d.want(ctx, acp.MethodSessionDelete, acp.DeleteSessionRequest{SessionID: id}, &r); err != nil {
				return err
			}
			listed, err := d.list(ctx)
			for _, l := range listed {
				if l.SessionID == id {
					return errors.New("it is still listed")
				}
			}
			return err
		}},
		{name: "a mode that does not exist is refused", run: func(ctx context.Context, s *subject) error {
			d, err := s.greet(ctx)
			if err != nil {
				return err
			}
			var r acp.NewSessionResponse
			if err := d.want(ctx, acp.MethodSessionNew, acp.NewSessionRequest{Cwd: s.opts.Cwd}, &r); err != nil || r.Modes == nil {
				return err
			}
			return d.refused(ctx, acp.MethodSessionSetMode, acp.SetSessionModeRequest{SessionID: r.SessionID, ModeID: "acptest-unknown"})
		}},
	}
}

// advertised is greet with what the agent has advertised.
func (s *subject) advertised(ctx context.Context) (*dialog, acp.AgentCapabilities, error) {
	d, err := s.connect()
	if err != nil {
		return nil, acp.AgentCapabilities{}, err
	}
	var hello acp.InitializeResponse
	err = d.want(ctx, acp.MethodInitialize, acp.InitializeRequest{ProtocolVersion: acp.Version1}, &hello)
	return d, hello.AgentCapabilities, err
}

// list returns all pages of the list of sessions.
func (d *dialog) list(ctx context.Context) ([]acp.SessionInfo, error) {
	var all []acp.SessionInfo
	params := `{}`
	for range 1000 {
		var r acp.ListSessionsResponse
		if err := d.want(ctx, acp.MethodSessionList, params, &r); err != nil {
			return nil, err
		}
		all = append(all, r.Sessions...)
		var page struct {
			NextCursor *string `json:"nextCursor"`
		}
		raw, err := json.Marshal(&r)
		if err == nil {
			err = json.Unmarshal(raw, &page)
		}
		if err != nil || page.NextCursor == nil {
			return all, err
		}
		params = `{"cursor":` + quoted(*page.NextCursor) + `}`
	}
	return nil, errors.New("the list of sessions has no end")
}
