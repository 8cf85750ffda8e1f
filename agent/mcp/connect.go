package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// firstVersion is the version of the protocol that is asked for first: the last with an initialize request, which
	// every server of before knows. Programs made for it alone may end at anything else that comes first, so newer ways
	// are tried only once a server has refused this one.
	firstVersion = "2025-11-25"

	maxTools = 256 // of one server
	maxPages = 64  // of its list of tools
)

// connection is an open conversation with a server.
type connection struct {
	session *sdk.ClientSession
	process *process // of a stdio server
	remote  *remote  // of any other

	life    context.Context // calls end with it
	end     context.CancelFunc
	ended   chan struct{} // closed when the session is over, for whatever reason
	changed chan struct{} // has an element when the server says that its tools have changed

	over   chan struct{} // closed when nothing of it is left
	why    *failure      // why it ended; set before over is closed
	killed bool          // it did not end by itself; see endedItself

	tokens   atomic.Int64
	calls    sync.WaitGroup
	mu       sync.Mutex
	closed   bool                         // no further calls
	progress map[string]func(text string) // by token
}

// connect reaches the server and learns its tools. ctx bounds that and nothing after.
func (s *server) connect(ctx context.Context) (*connection, []*sdk.Tool, error) {
	c := &connection{
		ended: make(chan struct{}), over: make(chan struct{}), changed: make(chan struct{}, 1),
		progress: map[string]func(string){},
	}
	var dial func() sdk.Transport
	if s.cfg.Transport == TransportStdio {
		p, err := startProcess(s.cfg, s.set.opts.Dir, s.set.environ, s.secrets)
		if err != nil {
			return nil, nil, err
		}
		c.process, dial = p, func() sdk.Transport { return newWire(p) }
	} else {
		c.remote = newRemote(s.cfg)
		dial = c.remote.transport
	}
	c.life, c.end = context.WithCancel(context.Background())
	tools, err := c.open(ctx, s.set.opts.Version, dial)
	if err == nil {
		return c, tools, nil
	}
	if c.remote != nil {
		err = c.remote.explain(err)
	}
	if limit := new(startLimitError); errors.As(context.Cause(ctx), &limit) {
		err, c.killed = limit, true
	} else if c.endedItself() {
		err = errors.New("it ended before it had answered")
	}
	c.close()
	return nil, nil, &failure{reason: reason(err) + c.exit(), detail: c.lastWords()}
}

// failure is why a server does not work: a sentence, and what the server itself said last.
type failure struct{ reason, detail string }

func (f *failure) Error() string {
	if f.detail == "" {
		return f.reason
	}
	return f.reason + "\n" + f.detail
}

func (c *connection) open(ctx context.Context, version string, dial func() sdk.Transport) (tools []*sdk.Tool, err error) {
	if version == "" {
		version = "0"
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "wherry", Version: version}, &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { c.toolsChanged() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { c.progressed(r.Params) },
	})
	// The SDK does not watch the context everywhere while it connects.
	disarm := context.AfterFunc(ctx, c.abort)
	defer func() {
		if !disarm() && err == nil {
			err = context.Cause(ctx)
		}
	}()
	session, err := client.Connect(ctx, dial(), &sdk.ClientSessionOptions{ProtocolVersion: firstVersion})
	if answered(err) != nil && ctx.Err() == nil {
		if newer, again := client.Connect(ctx, dial(), nil); again == nil {
			session, err = newer, nil
		}
	}
	if err != nil {
		return nil, err
	}
	c.session = session
	go func() { // ends with the session, which close ends
		_ = session.Wait()
		close(c.ended)
	}()
	return c.list(ctx)
}

// abort breaks off an attempt to connect.
func (c *connection) abort() {
	if c.process != nil {
		c.process.stop()
		return
	}
	c.remote.end()
}

// endedItself tells whether a process has ended, or closed its output, which comes to the same.
func (c *connection) endedItself() bool {
	if c.process == nil {
		return false
	}
	select {
	case <-c.process.stopping: // it was ended here
		c.killed = true
		return false
	default:
	}
	select {
	case <-c.process.silent:
		return true
	case <-c.process.child.Exited():
		return true
	default:
		c.killed = true
		return false
	}
}

// exit describes how a process ended that was not ended here. It is for after endedItself and close.
func (c *connection) exit() string {
	if c.process == nil || c.killed {
		return ""
	}
	return " (" + c.process.exit + ")"
}

// lastWords are what a process wrote that was no message. They are for after close.
func (c *connection) lastWords() string {
	if c.process == nil {
		return ""
	}
	words := c.process.said()
	if errs := c.process.tail.String(); errs != "" {
		words += "\nIts standard error ends:\n" + errs
	}
	return strings.TrimSpace(words)
}

// startLimitError says that a server took too long to start.
type startLimitError struct{ limit time.Duration }

func (e *startLimitError) Error() string {
	return fmt.Sprintf("it was not ready within %s; startTimeout can give it longer", e.limit)
}

// list asks for the tools, page after page.
func (c *connection) list(ctx context.Context) ([]*sdk.Tool, error) {
	var tools []*sdk.Tool
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := c.session.ListTools(ctx, params)
		if answer := answered(err); answer != nil && answer.Code == jsonrpc.CodeMethodNotFound {
			return nil, nil // a server without tools
		}
		if err != nil {
			return nil, fmt.Errorf("its tools cannot be listed: %w", err)
		}
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" || page.NextCursor == params.Cursor || len(tools) > maxTools {
			break
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return tools, nil
}

func (c *connection) toolsChanged() {
	select {
	case c.changed <- struct{}{}:
	default: // the next list has this change too
	}
}

// spawn runs a call in a goroutine that close waits for. Its context ends with the one given and with the connection. It
// gives false, and runs nothing, once the connection is being closed.
func (c *connection) spawn(ctx context.Context, call func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.calls.Go(func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.life, cancel)()
		call(ctx)
	})
	return true
}

// listen has progress of a call delivered to the receiver, until release is called. It gives the token for the call.
func (c *connection) listen(receive func(text string)) (token string, release func()) {
	token = "call-" + strconv.FormatInt(c.tokens.Add(1), 10)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress[token] = receive
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.progress, token)
	}
}

// progressed delivers under the lock: once a call has released its receiver, nothing comes any more.
func (c *connection) progressed(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	text := p.Message
	if text == "" {
		text = strconv.FormatFloat(p.Progress, 'f', -1, 64)
		if p.Total > 0 {
			text += " of " + strconv.FormatFloat(p.Total, 'f', -1, 64)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if receive := c.progress[token]; receive != nil {
		receive(text)
	}
}

// close ends the conversation and, on this machine, the server. It takes a bounded time and leaves nothing behind.
func (c *connection) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	idle := make(chan struct{})
	go func() { // ends with the calls, which end with life and the session
		c.calls.Wait()
		close(idle)
	}()
	defer func() { <-idle }()
	select {
	case <-c.ended: // the calls are about to learn why, which is better than to be stopped
		timer := time.NewTimer(lingering)
		defer timer.Stop()
		select {
		case <-idle:
		case <-timer.C:
		}
	default:
	}
	c.end()
	if c.process != nil {
		c.process.stop() // the session ends with the output
	}
	if c.session != nil {
		if c.remote != nil {
			limit := time.AfterFunc(goodbye, c.remote.close)
			defer limit.Stop()
		}
		_ = c.session.Close()
		<-c.ended
	}
	if c.remote != nil {
		c.remote.close()
	}
}
