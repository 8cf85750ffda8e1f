package clienthost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// DefaultPermissionTimeout is how long Permissions waits for an answer when no time is set.
const DefaultPermissionTimeout = 10 * time.Minute

// ErrPermissionsClosed is the cause that ends a listener's context on Close.
var ErrPermissionsClosed = errors.New("permissions are closed")

// errAnswered is the cause that ends a listener's context when another one has answered.
var errAnswered = errors.New("the question is answered")

// A Decision is what a person or a policy says to a permission request. The zero value
// refuses.
type Decision uint8

// The decisions.
const (
	RejectOnce Decision = iota
	RejectAlways
	AllowOnce
	AllowAlways
	Cancel // the turn is being cancelled: neither allowed nor refused
)

// String returns the kind of option that the decision means, or "cancelled".
func (d Decision) String() string {
	if d == Cancel {
		return "cancelled"
	}
	return string(d.kind())
}

func (d Decision) kind() acp.PermissionOptionKind {
	switch d {
	case AllowOnce:
		return acp.PermissionAllowOnce
	case AllowAlways:
		return acp.PermissionAllowAlways
	case RejectAlways:
		return acp.PermissionRejectAlways
	}
	return acp.PermissionRejectOnce
}

func (d Decision) allows() bool { return d == AllowOnce || d == AllowAlways }

// An Answer is a decision, and which of several options of its kind is meant.
type Answer struct {
	Decision Decision
	// Option, if it is not empty, is the option that was chosen. It counts if it was offered
	// and its kind is the decision's; else the decision does.
	Option acp.PermissionOptionID
	// Meta is sent with the answer.
	Meta acp.Meta
}

// Chosen returns the answer that is the choice of an offered option. An option of a kind
// that is not known refuses.
func Chosen(o acp.PermissionOption) Answer {
	for _, d := range []Decision{RejectAlways, AllowOnce, AllowAlways} {
		if o.Kind == d.kind() {
			return Answer{Decision: d, Option: o.OptionID}
		}
	}
	return Answer{Decision: RejectOnce, Option: o.OptionID}
}

// A PermissionListener asks a person. Its context ends when the answer is not wanted any
// more: another listener has answered, the turn is cancelled, the time is over, it does
// not listen any more. An error means that it cannot ask.
type PermissionListener func(ctx context.Context, req acp.RequestPermissionRequest) (Answer, error)

// Permissions answers the permission requests of one agent, as acp.ClientOptions.Permission.
// It asks, in this order: a policy that refuses, the "always" answers that it remembers,
// the policy, the listeners. It fails closed: when nobody listens, when no listener can
// ask, and when the time is over, the request is refused. The zero value refuses
// everything until there is a listener. Its methods may be called concurrently; the fields
// are set before the first request.
//
// What is decided goes by the kinds of the options, never by their ids or names. A
// decision whose kind is not offered takes the one-time option instead ("always" is then
// remembered here), a refusal any that refuses; an approval never takes a wider option
// than it said, and a refusal never one that allows. If there is nothing suitable the
// outcome is "cancelled".
//
// "Always" holds for the session and for exactly the same thing: the same tool name, kind,
// title, input, locations and content as the request showed. A request that shows neither
// input nor content is not remembered, since its title alone does not say what is done.
type Permissions struct {
	// Policy decides what need not be asked; nil asks everything.
	Policy Policy

	// Timeout bounds the wait for an answer; it then refuses. 0 means 10 minutes, less than
	// 0 no bound.
	Timeout time.Duration

	// Audit, if it is not nil, is told of each decision after it was made. It holds up the
	// answer.
	Audit func(PermissionRecord)

	mu        sync.Mutex
	closed    bool
	listeners map[*listener]struct{}
	open      map[*question]struct{}
	memory    memory
	running   sync.WaitGroup // listeners that were called
}

var _ acp.PermissionHandler = (*Permissions)(nil)

// A listener is registered.
type listener struct {
	name string
	ask  PermissionListener
	ctx  context.Context // ends with the registration
	end  context.CancelCauseFunc
}

// A question is a request that listeners are asked about. Its fields are guarded by
// Permissions.mu, except those that never change.
type question struct {
	ctx     context.Context // ends when no answer is wanted any more
	req     acp.RequestPermissionRequest
	settled chan struct{} // closed when there is a result, or nobody who could give one

	over    bool                   // settled is closed, or nobody waits for it any more
	waiting map[*listener]struct{} // they may still answer
	result  *answered              // the first answer
	err     error                  // why a listener could not ask
}

// answered is an answer and whose it is.
type answered struct {
	Answer
	by string
}

// Listen registers a listener until stop is called. Requests that are open are put to it
// at once. The name is for the audit.
func (p *Permissions) Listen(name string, ask PermissionListener) (stop func()) {
	l := &listener{name: name, ask: ask}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.end(ErrPermissionsClosed)
		return func() {}
	}
	if p.listeners == nil {
		p.listeners = make(map[*listener]struct{})
	}
	p.listeners[l] = struct{}{}
	for q := range p.open {
		if !q.over {
			p.put(q, l)
		}
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.drop(l, context.Canceled)
	}
}

// drop ends a registration. It is called with p.mu held.
func (p *Permissions) drop(l *listener, cause error) {
	delete(p.listeners, l)
	l.end(cause)
	for q := range p.open {
		q.done(l)
	}
}

// put puts a question to a listener, in a goroutine of its own that Close waits for. It is
// called with p.mu held.
func (p *Permissions) put(q *question, l *listener) {
	q.waiting[l] = struct{}{}
	p.running.Go(func() {
		ctx, end := context.WithCancelCause(q.ctx)
		defer end(nil)
		defer context.AfterFunc(l.ctx, func() { end(context.Cause(l.ctx)) })()
		answer, err := call(ctx, l, q.req)
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, wanted := q.waiting[l]; !wanted || q.over {
			return
		}
		if err != nil {
			q.err = errors.Join(q.err, fmt.Errorf("listener %s: %w", l.name, err))
		} else {
			q.result = &answered{answer, l.name}
		}
		q.done(l)
	})
}

// done tells that nothing more comes from a listener.
func (q *question) done(l *listener) {
	if _, waiting := q.waiting[l]; !waiting || q.over {
		return
	}
	delete(q.waiting, l)
	if q.result != nil || len(q.waiting) == 0 {
		q.over = true // what others say does not count
		close(q.settled)
	}
}

// call calls a listener; a panic is an error.
func call(ctx context.Context, l *listener, req acp.RequestPermissionRequest) (answer Answer, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the listener panicked: %v", r)
		}
	}()
	return l.ask(ctx, req)
}

// RequestPermission implements acp.PermissionHandler. It returns no error: what goes wrong
// refuses.
func (p *Permissions) RequestPermission(ctx context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	start := time.Now()
	what, identified := digest(req)
	d := p.decide(ctx, req, what, identified)
	outcome, sent := outcomeOf(req.Options, d.Answer)
	if d.how == HowAsked && identified && (d.Decision == RejectAlways || d.Decision == AllowAlways && sent != "") {
		p.mu.Lock()
		p.memory.put(req, what, d.Decision, time.Now())
		p.mu.Unlock()
	}
	if p.Audit != nil {
		r := PermissionRecord{
			Time: start, Waited: time.Since(start), SessionID: req.SessionID, ToolCallID: req.ToolCall.ToolCallID,
			ToolName: req.ToolCall.Name, ToolKind: req.ToolCall.Kind, Decision: d.Decision, Sent: sent, How: d.how, By: d.by, Err: d.err,
		}
		if identified {
			r.Digest = what.String()
		}
		p.Audit(r)
	}
	return acp.RequestPermissionResponse{Outcome: outcome, Meta: d.Meta}, nil
}

// decided is an answer and how it came about.
type decided struct {
	answered
	how How
	err error
}

func decision(d Decision, how How) decided {
	return decided{answered: answered{Answer: Answer{Decision: d}}, how: how}
}

func (p *Permissions) decide(ctx context.Context, req acp.RequestPermissionRequest, what key, identified bool) decided {
	if ctx.Err() != nil {
		return decision(Cancel, HowCancelled)
	}
	ruled, byPolicy := RejectOnce, false
	if p.Policy != nil {
		ruled, byPolicy = p.Policy(req)
	}
	if byPolicy && !ruled.allows() {
		return decision(ruled, HowPolicy)
	}
	if identified {
		p.mu.Lock()
		r, ok := p.memory.find(req.SessionID, what)
		p.mu.Unlock()
		if ok {
			return decision(r.Decision, HowRemembered)
		}
	}
	if byPolicy {
		return decision(ruled, HowPolicy)
	}
	return p.ask(ctx, req)
}

// ask puts a request to everyone who listens and waits for the first answer.
func (p *Permissions) ask(ctx context.Context, req acp.RequestPermissionRequest) decided {
	qctx, end := context.WithCancelCause(ctx)
	q := &question{ctx: qctx, req: req, settled: make(chan struct{}), waiting: make(map[*listener]struct{})}
	p.mu.Lock()
	if len(p.listeners) == 0 {
		p.mu.Unlock()
		end(nil)
		return decision(RejectOnce, HowNobody)
	}
	if p.open == nil {
		p.open = make(map[*question]struct{})
	}
	p.open[q] = struct{}{}
	for l := range p.listeners {
		p.put(q, l)
	}
	p.mu.Unlock()

	late := p.deadline()
	expired := false
	select {
	case <-q.settled:
	case <-late:
		expired = true
	case <-ctx.Done():
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, q)
	q.over = true
	switch {
	case ctx.Err() != nil:
		end(context.Cause(ctx))
		return decision(Cancel, HowCancelled)
	case q.result != nil:
		end(errAnswered)
		return decided{answered: *q.result, how: HowAsked}
	case expired:
		end(context.DeadlineExceeded)
		return decision(RejectOnce, HowTimedOut)
	}
	end(nil)
	d := decision(RejectOnce, HowNobody)
	if q.err != nil {
		d.how, d.err = HowFailed, q.err
	}
	return d
}

// deadline returns a channel on which the time-out comes, nil if there is none.
func (p *Permissions) deadline() <-chan time.Time {
	switch {
	case p.Timeout < 0:
		return nil
	case p.Timeout == 0:
		return time.After(DefaultPermissionTimeout)
	}
	return time.After(p.Timeout)
}

// Close refuses what is open and what comes, ends the listeners' contexts, and waits for
// them until ctx ends.
func (p *Permissions) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	for l := range p.listeners {
		p.drop(l, ErrPermissionsClosed)
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the listeners, whose contexts have ended
		defer close(done)
		p.running.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for permission listeners: %w", context.Cause(ctx))
	}
}
