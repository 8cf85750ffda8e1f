package acp

import (
	"iter"
	"slices"
)

// A SessionState is what a session looked like at one moment: everything that its updates,
// the answers to calls about it and the prompts have built. It never changes, so that it
// can be kept and read from any goroutine; taking one costs next to nothing, since
// snapshots share what is the same in them. What its methods return may be changed at the
// top (a slice's items), but not what that refers to.
//
// See [Session.State] for the state of a client's session, [StateBuilder] for one's own.
type SessionState struct {
	revision uint64
	entries  transcript
	index    *entryIndex
	*stateParts
}

// stateParts are what is not in the transcript. They are copied with each of their changes.
type stateParts struct {
	plan      *Plan
	plans     []planned
	modes     *SessionModeState
	config    []SessionConfigOption
	commands  []AvailableCommand
	usage     *UsageUpdate
	title     string
	updatedAt string
	meta      Meta
	subagents []UnstableSubagent
	unknown   []UnknownUpdate
	unknowns  int
	turn      TurnState
}

// Revision rises with everything that changes the state.
func (s *SessionState) Revision() uint64 { return s.revision }

// Len returns how many entries the transcript has.
func (s *SessionState) Len() int { return s.entries.n }

// Entry returns the transcript's entry i, from 0 to Len-1.
func (s *SessionState) Entry(i int) Entry {
	if i < 0 || i >= s.entries.n {
		panic("acp: index of an entry out of range")
	}
	return s.entries.at(i)
}

// Entries iterates over the transcript from index first on.
func (s *SessionState) Entries(first int) iter.Seq2[int, Entry] {
	return func(yield func(int, Entry) bool) {
		for i := max(first, 0); i < s.entries.n; i++ {
			if !yield(i, s.entries.at(i)) {
				return
			}
		}
	}
}

// find returns the index of an entry that this snapshot has.
func (s *SessionState) find(k entryKey) (int, bool) {
	i, ok := s.index.find(k)
	return i, ok && i < s.entries.n
}

// ToolCall returns a tool call by its id, with its index in the transcript.
func (s *SessionState) ToolCall(id ToolCallID) (call ToolCallEntry, index int, ok bool) {
	i, ok := s.find(entryKey{keyToolCall, string(id)})
	if !ok {
		return ToolCallEntry{}, 0, false
	}
	return s.entries.at(i).(ToolCallEntry), i, true
}

// Plan returns the agent's plan, nil if it has not sent any. A plan without entries is one
// that the agent has emptied.
func (s *SessionState) Plan() *Plan {
	if s.plan == nil {
		return nil
	}
	p := *s.plan
	p.Entries = slices.Clone(p.Entries)
	return &p
}

// UnstablePlans returns the plans that have ids, in the order in which they were first
// named.
//
// Unstable: they are off until a connection opts in.
func (s *SessionState) UnstablePlans() []UnstablePlanUpdateContent {
	var all []UnstablePlanUpdateContent
	for _, p := range s.plans {
		all = append(all, p.content)
	}
	return all
}

// Modes returns the session's modes and which one it is in, nil if it has none. Of an agent
// that only sent current_mode_update the available modes are not known.
func (s *SessionState) Modes() *SessionModeState {
	if s.modes == nil {
		return nil
	}
	m := *s.modes
	m.AvailableModes = slices.Clone(m.AvailableModes)
	return &m
}

// ConfigOptions returns the session's configuration options with their values.
func (s *SessionState) ConfigOptions() []SessionConfigOption { return slices.Clone(s.config) }

// Commands returns the commands that the agent offers.
func (s *SessionState) Commands() []AvailableCommand { return slices.Clone(s.commands) }

// Usage returns the use of the model's context, nil if the agent has not told it.
func (s *SessionState) Usage() *UsageUpdate {
	if s.usage == nil {
		return nil
	}
	u := *s.usage
	return &u
}

// Title returns the session's title, empty if it has none.
func (s *SessionState) Title() string { return s.title }

// UpdatedAt returns when the agent says that the session was last active, as it was sent
// (RFC 3339), empty if it has not said it.
func (s *SessionState) UpdatedAt() string { return s.updatedAt }

// InfoMeta returns the _meta of the last session_info_update that had any.
func (s *SessionState) InfoMeta() Meta { return s.meta }

// UnstableSubagents returns the sessions that work for this one, in the order in which they
// were first named.
//
// Unstable: they are off until a connection opts in.
func (s *SessionState) UnstableSubagents() []UnstableSubagent { return slices.Clone(s.subagents) }

// Turn returns what the session is doing.
func (s *SessionState) Turn() TurnState { return s.turn }

// Unknown returns the updates that were not understood, the last [MaxUnknown] at most.
func (s *SessionState) Unknown() []UnknownUpdate {
	return slices.Clone(s.unknown[max(0, len(s.unknown)-MaxUnknown):])
}

// UnknownCount returns how many updates were not understood in all.
func (s *SessionState) UnknownCount() int { return s.unknowns }

// MaxUnknown is how many updates that were not understood a state keeps.
const MaxUnknown = 256

// An UnknownUpdate is an update that was not understood.
type UnknownUpdate struct {
	Update UnknownSessionUpdate
	Before int // the index of the entry that came next
}

// TurnState is what a session is doing, and how its last turn ended.
type TurnState struct {
	// Number counts the turns of this connection; 0 before the first.
	Number int
	// Running is set from the prompt to its answer.
	Running bool
	// Cancelling is set while a turn runs that was asked to end.
	Cancelling bool
	// Loading is set while a conversation is replayed (session/load).
	Loading bool
	// Result is the last answer; its StopReason is empty before the first, and when the last
	// turn failed.
	Result PromptResponse
	// Err is why the last turn failed, nil if it did not.
	Err error
}

// UnstableSubagent is a session that works for another one.
//
// Unstable: it may change or go, and is off until a connection opts in.
type UnstableSubagent struct {
	SessionID             SessionID
	Title                 string
	Description           string
	Capabilities          UnstableSubagentSessionCapabilities
	State                 UnstableStateUpdate // nil if it was not told
	Cwd                   string
	AdditionalDirectories []string
	Meta                  Meta
}

// planned is a plan that has an id.
type planned struct {
	id      UnstablePlanID
	content UnstablePlanUpdateContent
}
