package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
)

// Call is one request to a model: it watches the connection and turns what goes wrong into a [model.Error].
// Its methods are safe for concurrent use.
type Call struct {
	e      *Endpoint
	info   model.Info
	req    model.Request
	parent context.Context
	cancel context.CancelFunc
	watch  *time.Timer // nil without an idle time-out
	quiet  *time.Timer // tells of silence before that; nil if nobody listens

	mu      sync.Mutex
	host    string
	status  int
	header  http.Header
	page    bool
	sendErr error // the request never got an answer
	endErr  error // why the answer's body ended; io.EOF if it was complete
	stalled bool
}

type callKey struct{}

// Begin starts the watch over one request. The library must be called with the context that Begin returns.
// End must be called when the request is over.
func (e *Endpoint) Begin(ctx context.Context, info model.Info, req model.Request) (context.Context, *Call) {
	c := &Call{e: e, info: info, req: req, parent: ctx, host: e.Host()}
	inner, cancel := context.WithCancel(context.WithValue(ctx, callKey{}, c))
	c.cancel = cancel
	if d := e.idle(); d > 0 {
		c.watch = time.AfterFunc(d, c.stall)
		if tell := model.TellSilence(ctx); tell != nil && d > silence {
			c.quiet = time.AfterFunc(silence, func() {
				tell(model.Silence{For: silence, Until: time.Now().Add(d - silence)})
			})
		}
	}
	return inner, c
}

// End closes the connection if it is still busy, and stops the watch.
func (c *Call) End() {
	for _, timer := range []*time.Timer{c.watch, c.quiet} {
		if timer != nil {
			timer.Stop()
		}
	}
	c.cancel()
}

func (c *Call) stall() {
	c.mu.Lock()
	c.stalled = true
	c.mu.Unlock()
	c.cancel()
}

func (c *Call) alive() {
	if c.watch != nil {
		c.watch.Reset(c.e.idle())
	}
	if c.quiet != nil {
		c.quiet.Reset(silence)
	}
}

func (c *Call) asked(u *url.URL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host = hostOf(u)
}

func (c *Call) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendErr = err
}

func (c *Call) answered(r *http.Response) {
	c.alive()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status, c.header, c.page, c.sendErr, c.endErr = r.StatusCode, r.Header, isPage(r.Header), nil, nil
}

func (c *Call) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endErr == nil {
		c.endErr = err
	}
}

// Said is what a provider said about a failure, in its own words.
type Said struct {
	Status     int    // HTTP status where the library knows it; 0 if not
	Code       string // the most particular code: "insufficient_quota", "overloaded_error", "RESOURCE_EXHAUSTED"
	Message    string
	Quota      bool          // it is about an account's limit that waiting does not lift
	RetryAfter time.Duration // from the body, where the provider puts it there
}

// Error is the failure of this call: the context's error if that ended, else a *[model.Error]. err is the library's error,
// nil when the stream ended without its last event.
func (c *Call) Error(err error, said Said) error {
	if ctxErr := c.parent.Err(); ctxErr != nil {
		return ctxErr
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.error(err, said)
	e.Provider = c.info.Provider
	return e
}

func (c *Call) error(err error, said Said) *model.Error {
	status := c.status
	if said.Status >= 300 {
		status = said.Status
	}
	switch {
	case c.stalled:
		return &model.Error{Kind: model.ErrStalled, Status: c.status, Err: errors.New("idle time-out"),
			Message: fmt.Sprintf("%s sent nothing for %s, so the request was ended. Try again; if it stays so, look at the provider's status page or your network", c.host, Seconds(c.e.idle()))}
	case status >= 300:
		return c.refused(status, said)
	case c.page:
		return &model.Error{Kind: model.ErrGarbage, Status: status, Err: errors.New("answer is HTML"),
			Message: fmt.Sprintf("%s answered with a web page, not as a model%s", c.host, c.addressHint())}
	case said.Code != "" || said.Message != "":
		return c.refused(0, said)
	case c.status == 0:
		if c.sendErr != nil {
			err = c.sendErr
		}
		return c.network(err)
	case errors.Is(c.endErr, errLongLine):
		return c.garbage(c.endErr)
	case c.endErr != nil && !errors.Is(c.endErr, io.EOF):
		return c.cut(c.endErr)
	case isSyntax(err):
		return c.garbage(err)
	}
	return c.cut(errors.New("the stream ended without its last event"))
}

// cut and garbage never keep the library's error text: it may quote the stream.
func (c *Call) cut(err error) *model.Error {
	return &model.Error{Kind: model.ErrCut, Status: c.status, Err: bare(err),
		Message: fmt.Sprintf("the connection to %s broke before the answer was complete", c.host)}
}

func (c *Call) garbage(err error) *model.Error {
	return &model.Error{Kind: model.ErrGarbage, Status: c.status, Err: fmt.Errorf("answer is not understood: %T", err),
		Message: fmt.Sprintf("%s sent something that is not in the format of %s%s", c.host, c.e.Title, c.addressHint())}
}

func (c *Call) addressHint() string {
	if c.e.BaseVar == "" {
		return ". A proxy or a sign-in page of the network may be in between"
	}
	return fmt.Sprintf(". Check the address in %s, and whether a proxy or a sign-in page of the network is in between", c.e.BaseVar)
}

// isSyntax tells a decoding failure from anything else.
func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, ErrFormat)
}

// ErrFormat marks an answer that a provider package could not understand.
var ErrFormat = errors.New("unexpected format")

// Seconds writes a duration as people read it: "2 s", "1.5 s", "3 min".
func Seconds(d time.Duration) string {
	if d >= 2*time.Minute {
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	if d >= time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	return fmt.Sprintf("%g s", d.Seconds())
}
