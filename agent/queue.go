package agent

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/wherry-acp/wherry/agent/session"
)

// queue is where the prompts of a session wait for each other. The zero value is ready to use.
type queue struct {
	mu      sync.Mutex
	line    []*place // the first one runs
	current *turn    // the turn that takes what is steered; nil while there is none
	steered []*Pending
}

// place is a position in the line.
type place struct{ first chan struct{} } // closed when it is the first

// Pending is a prompt that has its place: behind the prompts before it, or in the turn that is running. Run must be called.
type Pending struct {
	s      *Session
	prompt []session.Block
	place  *place        // nil while it is to be taken into the running turn
	taken  chan struct{} // closed when the turn that was running has ended, or has left it
	result *TurnResult   // of the turn that took it; nil if none did
}

// Enqueue gives a prompt its place, at once. What the person chose for the setting [SettingBusy] decides whether a prompt waits
// for the turn that is running or is taken into it.
func (s *Session) Enqueue(prompt []session.Block) *Pending {
	p := &Pending{s: s, prompt: prompt}
	steer := s.State().Options[string(SettingBusy)] == busySteer
	if _, _, is := s.commandOf(prompt); is {
		steer = false
	}
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if steer && q.current != nil && len(prompt) > 0 {
		p.taken = make(chan struct{})
		q.steered = append(q.steered, p)
		return p
	}
	p.place = q.join()
	return p
}

// join adds a place to the line; the caller holds mu.
func (q *queue) join() *place {
	p := &place{first: make(chan struct{})}
	if q.line = append(q.line, p); len(q.line) == 1 {
		close(p.first)
	}
	return p
}

// leave gives a place up.
func (q *queue) leave(p *place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.line, p)
	q.line = slices.Delete(q.line, i, i+1)
	if i == 0 && len(q.line) > 0 {
		close(q.line[0].first)
	}
}

// wait waits until the place is the first, or ctx ends.
func (p *place) wait(ctx context.Context) error {
	select {
	case <-p.first:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Run waits for the prompt's turn and gives its result; see [Session.Turn].
func (p *Pending) Run(ctx context.Context) (TurnResult, error) {
	if len(p.prompt) == 0 {
		if p.place != nil {
			p.s.queue.leave(p.place)
		}
		return TurnResult{}, errors.New("the prompt is empty")
	}
	if p.place == nil {
		select {
		case <-p.taken:
		case <-ctx.Done():
			if p.s.queue.withdraw(p) {
				return TurnResult{}, context.Cause(ctx)
			}
			<-p.taken // it is in the turn, which ends by its own context
		}
		if p.result != nil {
			return *p.result, nil
		}
		p.s.queue.mu.Lock()
		p.place = p.s.queue.join()
		p.s.queue.mu.Unlock()
	}
	defer p.s.queue.leave(p.place)
	if err := p.place.wait(ctx); err != nil {
		return TurnResult{}, err
	}
	return p.s.runTurn(ctx, p.prompt)
}

// withdraw takes a steered prompt back that no turn has taken. It reports whether it did.
func (q *queue) withdraw(p *Pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.steered, p)
	if i < 0 {
		return false
	}
	q.steered = slices.Delete(q.steered, i, i+1)
	return true
}

// steerable lets prompts be taken into the turn.
func (q *queue) steerable(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.current = t
}

// take gives the prompts that came in since, which now belong to the turn.
func (q *queue) take() []*Pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.steered
	q.steered = nil
	return taken
}

// last ends the taking of prompts, unless some have come in: those it gives, and the turn goes on.
func (q *queue) last() []*Pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.steered
	q.steered = nil
	if len(taken) == 0 {
		q.current = nil
	}
	return taken
}

// end ends the taking of prompts and sends those away that no turn has taken: they get turns of their own.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.current = nil
	for _, p := range q.steered {
		close(p.taken)
	}
	q.steered = nil
}

// steer takes what the person has said meanwhile into the turn.
func (t *turn) steer(ctx context.Context, prompts []*Pending) error {
	t.steered = append(t.steered, prompts...)
	for _, p := range prompts {
		said := session.Steered{Turn: t.id, Message: session.NewMessageID(), Prompt: p.prompt}
		if err := t.s.record(ctx, said); err != nil {
			return err
		}
		if err := t.takeIn(ctx, said.Message, p.prompt); err != nil {
			return err
		}
	}
	return nil
}
