package acp

import "slices"

// Setup takes in what the answer to session/new, load, resume or fork says of a session.
// Nil says nothing.
func (b *StateBuilder) Setup(modes *SessionModeState, options []SessionConfigOption) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setup(modes, options)
}

func (b *StateBuilder) setup(modes *SessionModeState, options []SessionConfigOption) {
	if modes != nil {
		m := *modes
		m.AvailableModes = slices.Clone(m.AvailableModes)
		b.writeParts().modes = &m
		b.changed(ChangedModes)
	}
	if options != nil {
		b.writeParts().config = slices.Clone(options)
		b.changed(ChangedConfigOptions)
	}
}

// BeginTurn tells that a prompt is sent and returns the turn's number, for EndTurn. The
// prompt becomes the turn's first entry.
func (b *StateBuilder) BeginTurn(prompt ...ContentBlock) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.writeParts()
	s.turn = TurnState{Number: s.turn.Number + 1, Running: true}
	b.over = false
	b.turnFirst, b.joinFrom, b.echo = s.entries.n, s.entries.n, echoOf(prompt)
	b.changed(ChangedTurn)
	if len(prompt) > 0 {
		m := MessageEntry{EntryInfo: b.now(s), Role: MessageUser, Sent: true, content: blocksOf(prompt)}
		b.begin(s, m)
	}
	return s.turn.Number
}

// EndTurn tells how the turn with the number ended. It does nothing if that turn does not
// run. Tool calls that are left open by a cancelled turn are marked.
func (b *StateBuilder) EndTurn(number int, result PromptResponse, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == nil || b.state.turn.Number != number || !b.state.turn.Running {
		return
	}
	s := b.writeParts()
	if err != nil {
		result = PromptResponse{}
	}
	s.turn = TurnState{Number: number, Result: result, Err: err}
	b.changed(ChangedTurn)
	if result.StopReason == StopCancelled {
		b.markCancelled(s)
	}
}

// answered tells that the turn has got its answer: what comes now is late, although it is
// not known yet how the turn ended.
func (b *StateBuilder) answered(number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write() // what is open is closed
	b.over = b.state.turn.Number == number
}

// Cancel tells that the turn is asked to end. Its tool calls that have not ended are marked
// as cancelled.
func (b *StateBuilder) Cancel() {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.writeParts()
	if s.turn.Running {
		s.turn.Cancelling = true
		b.changed(ChangedTurn)
	}
	b.markCancelled(s)
}

// markCancelled marks the open tool calls of the last turn, or, before the first, all.
func (b *StateBuilder) markCancelled(s *SessionState) {
	for i := b.turnFirst; i < s.entries.n; i++ {
		if t, ok := s.entries.at(i).(ToolCallEntry); ok && !t.Ended() {
			t.Cancelled = true
			b.revise(s, i, t)
		}
	}
}

// Reset makes the session an empty one, as before a replay.
func (b *StateBuilder) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replace(newBuilt())
}

// replace puts another state in place of the present one.
func (b *StateBuilder) replace(by built) {
	revision := uint64(0)
	if b.state != nil {
		revision = b.state.revision
	}
	b.built = by
	s := b.write()
	s.revision = max(s.revision, revision+1)
	b.changed(changedAll)
}

// beginLoad makes the session an empty one that is being loaded, and returns how to take
// that back.
func (b *StateBuilder) beginLoad() (undo func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.snapshot()
	was := b.built
	b.replace(newBuilt())
	b.writeParts().turn.Loading = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.state.turn.Loading {
			b.replace(was)
		}
	}
}

// endLoad tells that the replay is complete.
func (b *StateBuilder) endLoad(modes *SessionModeState, options []SessionConfigOption) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writeParts().turn.Loading = false
	b.changed(ChangedTurn)
	b.setup(modes, options)
}
