package bridge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
)

// How long an editor may take for a file: after that a read falls back to the disk, and it is not known what became of a
// write.
const (
	readWait  = 30 * time.Second
	writeWait = time.Minute
)

// face is the client as one session sees it.
type face struct {
	client  *acp.Client
	local   host.LocalOptions
	session acp.SessionID

	mu     sync.Mutex // guards render
	render *renderer
}

func (b *Bridge) newFace(ctx context.Context) *face {
	client := acp.ClientFrom(ctx)
	caps := client.Capabilities()
	return &face{
		client: client, local: b.local,
		render: newRenderer(shows{
			notices:     caps.Session != nil && caps.Session.Notices != nil,
			compactions: caps.Session != nil && caps.Session.Compaction != nil,
			outputs:     outputsOf(caps),
		}),
	}
}

// Name implements [agent.Face].
func (f *face) Name() string {
	if info := f.client.Info(); info != nil && info.Name != "" {
		return info.Name
	}
	return "an unnamed client"
}

// Rewind implements [agent.Face].
func (f *face) Rewind() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.render = newRenderer(f.render.client)
}

// Show implements [agent.Face].
func (f *face) Show(ctx context.Context, e session.Event, live bool) error {
	f.mu.Lock()
	updates := fitAll(f.render.render(e, live))
	f.mu.Unlock()
	for _, u := range updates {
		if err := f.client.Update(ctx, f.id(e), u); err != nil {
			return err
		}
	}
	return nil
}

// Configured implements [agent.Face].
func (f *face) Configured(ctx context.Context, settings []agent.Setting) error {
	if f.session == "" {
		return nil // the answer that opens the session has them
	}
	return f.client.Update(ctx, f.session, acp.ConfigOptionUpdate{ConfigOptions: configOptions(settings)})
}

// id is the session's id, from the event until it has been registered.
func (f *face) id(e session.Event) acp.SessionID {
	if f.session == "" {
		return acp.SessionID(e.Session)
	}
	return f.session
}

// Host implements [agent.Face].
func (f *face) Host(roots []string) (host.Host, error) {
	local, err := host.NewLocal(roots, f.local)
	if err != nil {
		return nil, err
	}
	caps := f.client.Capabilities()
	e := editor{answered: answered}
	if caps.FS.ReadTextFile {
		e.read = func(ctx context.Context, path string) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, readWait)
			defer cancel()
			resp, err := f.client.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionID: f.session, Path: path})
			return resp.Content, err
		}
	}
	if caps.FS.WriteTextFile {
		e.write = func(ctx context.Context, path, content string) error {
			ctx, cancel := context.WithTimeout(ctx, writeWait)
			defer cancel()
			_, err := f.client.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionID: f.session, Path: path, Content: content})
			return err
		}
	}
	if caps.Terminal {
		e.terminal = func(ctx context.Context, req acp.CreateTerminalRequest) (terminal, error) {
			req.SessionID = f.session
			t, err := f.client.NewTerminal(ctx, req)
			if err != nil {
				return nil, err
			}
			return t, nil
		}
	}
	if e.read == nil && e.write == nil && e.terminal == nil {
		return local, nil
	}
	return &editorHost{Local: local, editor: e}, nil
}

// answered tells whether an error is the client's own answer: what was asked for has not happened.
func answered(err error) bool {
	var answer *acp.RequestError
	return errors.As(err, &answer)
}
