package agent

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wherry-acp/wherry/agent/session"
)

// How the output of a running call is shown: at once at first, then in pieces that are some time apart. Of a flood the
// newest is shown, and how much was left out; once a lot has been shown, the pieces become few and small.
const (
	pieceEvery = 250 * time.Millisecond
	pieceBytes = 16 << 10
	shownMuch  = 256 << 10 // bytes
	fewEvery   = time.Second
	fewBytes   = 4 << 10
)

// output shows a running call's output live. Whoever writes to it is never held up: what the face cannot take in time is
// left out.
type output struct {
	ctx  context.Context
	s    *Session
	call string

	mu      sync.Mutex // guards the rest
	pending []byte
	left    int64 // bytes left out before pending
	shown   int   // bytes
	begun   bool
	closed  bool

	more    chan struct{} // something is pending
	closing chan struct{}
	done    chan struct{} // closed when the goroutine that shows has ended
}

// showOutput begins to show the output of a call; close ends it.
func (t *turn) showOutput(ctx context.Context, call string) *output {
	return &output{
		ctx: ctx, s: t.s, call: call,
		more: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
}

// Text implements [tool.Output].
func (o *output) Text(chunk string) {
	if chunk == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.pending = append(o.pending, chunk...)
	if over := len(o.pending) - o.limit(); over > 0 {
		for over < len(o.pending) && !utf8.RuneStart(o.pending[over]) {
			over++
		}
		o.left += int64(over)
		o.pending = append(o.pending[:0], o.pending[over:]...)
	}
	if !o.begun {
		o.begun = true
		go o.pump()
	}
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// Terminal implements [tool.Output].
func (o *output) Terminal(id string) {
	o.s.live(o.ctx, session.CallOutput{Call: o.call, Terminal: id})
}

// limit is the size of the next piece; the caller holds mu.
func (o *output) limit() int {
	if o.shown > shownMuch {
		return fewBytes
	}
	return pieceBytes
}

// pump shows what is pending until close.
func (o *output) pump() {
	defer close(o.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-o.more:
		case <-o.closing:
			o.send()
			return
		}
		timer.Reset(o.send())
		select {
		case <-timer.C:
		case <-o.closing:
			o.send()
			return
		}
	}
}

// send shows what is pending, and tells how long to wait before the next piece.
func (o *output) send() time.Duration {
	o.mu.Lock()
	text := string(o.pending)
	if o.left > 0 {
		text = fmt.Sprintf("\n… %d bytes left out …\n%s", o.left, text)
	}
	o.pending, o.left = o.pending[:0], 0
	o.shown += len(text)
	every := pieceEvery
	if o.shown > shownMuch {
		every = fewEvery
	}
	o.mu.Unlock()
	if text != "" {
		o.s.live(o.ctx, session.CallOutput{Call: o.call, Text: text})
	}
	return every
}

// close shows the rest and waits until it has been. Nothing is shown afterwards.
func (o *output) close() {
	o.mu.Lock()
	begun, closed := o.begun, o.closed
	o.closed = true
	o.mu.Unlock()
	if closed {
		return
	}
	close(o.closing)
	if begun {
		<-o.done
	}
}
