package acp

import (
	"slices"
	"strings"
	"sync"
)

// A StateBuilder puts session updates together to a [SessionState]. The zero value is an
// empty session. Its methods may be called concurrently; updates count in the order in
// which they are applied. A [Session] has its own; another one serves whoever has updates
// from elsewhere, such as a log.
type StateBuilder struct {
	mu        sync.Mutex
	built     // what a reload replaces
	edition   uint64
	observers map[*observer]struct{}
	closed    bool
}

// built is a state in the making.
type built struct {
	state  *SessionState
	frozen bool // state has been given out: the next change makes a copy

	last      int  // index of the last entry, notices aside
	joinFrom  int  // chunks without id join entries from here on
	turnFirst int  // index of the last turn's first entry
	echo      echo // what is left of the turn's prompt that the agent may repeat
	over      bool // the turn has been answered

	open   MessageEntry // the message that chunks are added to; it is written back before anyone reads the state
	openAt int          // its index; -1 for none
	dirty  bool         // open is newer than its entry
}

// An echo is a prompt that the agent may repeat.
type echo struct {
	text   string
	blocks int // without text
}

func echoOf(prompt []ContentBlock) echo {
	e := echo{text: PlainText(prompt...)}
	for _, b := range prompt {
		if PlainText(b) == "" {
			e.blocks++
		}
	}
	return e
}

// newBuilt returns an empty session.
func newBuilt() built {
	return built{state: &SessionState{index: newEntryIndex(), stateParts: &stateParts{}}, last: -1, openAt: -1}
}

// State returns the state as it is now.
func (b *StateBuilder) State() *SessionState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.snapshot()
}

func (b *StateBuilder) snapshot() *SessionState {
	if b.state == nil {
		b.built = newBuilt()
	}
	b.flush()
	if !b.frozen {
		b.frozen = true
		b.edition++ // what exists now is written to no more
	}
	return b.state
}

// flush brings the open message into the state.
func (b *StateBuilder) flush() {
	if !b.dirty {
		return
	}
	b.dirty = false
	b.thaw()
	b.state.entries.set(b.openAt, b.open, b.edition)
}

// thaw makes the state one that may be changed.
func (b *StateBuilder) thaw() {
	if b.frozen {
		c := *b.state
		b.state, b.frozen = &c, false
	}
	b.state.revision++
}

// write returns the state for a change of its transcript.
func (b *StateBuilder) write() *SessionState {
	if b.state == nil {
		b.built = newBuilt()
	}
	b.flush()
	b.openAt = -1
	b.thaw()
	return b.state
}

// writeParts is write for a change outside of the transcript.
func (b *StateBuilder) writeParts() *SessionState {
	s := b.write()
	parts := *s.stateParts
	s.stateParts = &parts
	return s
}

// Apply takes an update in, by value or by pointer. Nothing of what the update refers to may be changed afterwards,
// save the items of its own slices.
func (b *StateBuilder) Apply(update SessionUpdate) {
	update = variant(update)
	if update == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch u := update.(type) {
	case UserMessageChunk:
		b.chunk(MessageUser, (*ContentChunk)(&u))
	case AgentMessageChunk:
		b.chunk(MessageAgent, (*ContentChunk)(&u))
	case AgentThoughtChunk:
		b.chunk(MessageThought, (*ContentChunk)(&u))
	default:
		b.apply(update)
	}
}

// apply takes in what is not a piece of a message.
func (b *StateBuilder) apply(update SessionUpdate) {
	s := b.write()
	switch u := update.(type) {
	case ToolCall:
		b.toolCall(s, &u, true)
	case ToolCallUpdate:
		b.toolCall(s, &ToolCall{
			ToolCallID: u.ToolCallID, Title: u.Title, Name: u.Name, Kind: u.Kind, Status: u.Status, Content: u.Content,
			Locations: u.Locations, RawInput: u.RawInput, RawOutput: u.RawOutput, Meta: u.Meta,
			unknown: withoutMember(u.unknown, "sessionUpdate"),
		}, false)
	case Notice:
		s.entries.add(NoticeEntry{EntryInfo: b.now(s), Notice: u}, b.edition)
		b.changed(ChangedEntries)
	case CompactionUpdate:
		b.compaction(s, u.CompactionID, func(c *CompactionEntry) {
			if u.Status != "" {
				c.Status = u.Status
			}
			c.summary = content(u.Summary, c.summary)
			c.Error = u.Error.Apply(c.Error)
			c.Meta = u.Meta.Apply(c.Meta)
		})
	case CompactionSummaryChunk:
		b.compaction(s, u.CompactionID, func(c *CompactionEntry) { c.summary = c.summary.add(u.Content) })
	case UnstableSessionMessage:
		b.sessionMessage(s, u.MessageID, func(m *UnstableSessionMessageEntry) {
			m.SenderSessionID = u.SenderSessionID.Apply(m.SenderSessionID)
			m.RecipientSessionID = u.RecipientSessionID.Apply(m.RecipientSessionID)
			m.SenderMessageID = u.SenderMessageID.Apply(m.SenderMessageID)
			m.RecipientMessageID = u.RecipientMessageID.Apply(m.RecipientMessageID)
			m.content = content(u.Content, m.content)
			m.Meta = u.Meta.Apply(m.Meta)
		})
	case UnstableSessionMessageChunk:
		b.sessionMessage(s, u.MessageID, func(m *UnstableSessionMessageEntry) { m.content = m.content.add(u.Content) })
	default:
		b.part(b.writeParts(), update)
	}
}

// part takes in an update of what is not in the transcript.
func (b *StateBuilder) part(s *SessionState, update SessionUpdate) {
	switch u := update.(type) {
	case Plan:
		u.Entries = slices.Clone(u.Entries)
		s.plan = &u
		b.changed(ChangedPlan)
	case UnstablePlanUpdate:
		s.plans = replaced(s.plans, planned{planID(u.Plan), u.Plan}, func(p *planned) UnstablePlanID { return p.id })
		b.changed(ChangedPlan)
	case UnstablePlanRemoved:
		s.plans = slices.DeleteFunc(slices.Clone(s.plans), func(p planned) bool { return p.id == u.PlanID })
		b.changed(ChangedPlan)
	case CurrentModeUpdate:
		b.setMode(s, u.CurrentModeID)
	case ConfigOptionUpdate:
		s.config = slices.Clone(u.ConfigOptions)
		b.changed(ChangedConfigOptions)
	case AvailableCommandsUpdate:
		s.commands = slices.Clone(u.AvailableCommands)
		b.changed(ChangedCommands)
	case UsageUpdate:
		s.usage = &u
		b.changed(ChangedUsage)
	case SessionInfoUpdate:
		s.title = u.Title.Apply(s.title)
		s.updatedAt = u.UpdatedAt.Apply(s.updatedAt)
		if u.Meta != nil {
			s.meta = u.Meta
		}
		b.changed(ChangedInfo)
	case UnstableSubagentUpdate:
		a := UnstableSubagent{SessionID: u.SessionID}
		if i := slices.IndexFunc(s.subagents, func(a UnstableSubagent) bool { return a.SessionID == u.SessionID }); i >= 0 {
			a = s.subagents[i]
		}
		a.Title = u.Title.Apply(a.Title)
		a.Description = u.Description.Apply(a.Description)
		a.Capabilities = u.Capabilities.Apply(a.Capabilities)
		a.State = u.State.Apply(a.State)
		a.Cwd = u.Cwd.Apply(a.Cwd)
		a.AdditionalDirectories = u.AdditionalDirectories.Apply(a.AdditionalDirectories)
		a.Meta = u.Meta.Apply(a.Meta)
		s.subagents = replaced(s.subagents, a, func(a *UnstableSubagent) SessionID { return a.SessionID })
		b.changed(ChangedSubagents)
	case UnknownSessionUpdate:
		if len(s.unknown) >= 2*MaxUnknown {
			s.unknown = slices.Clone(s.unknown[len(s.unknown)-MaxUnknown:])
		}
		s.unknown = append(s.unknown, UnknownUpdate{u, s.entries.n})
		s.unknowns++
		b.changed(ChangedUnknown)
	default: // of the transcript
	}
}

// replaced returns a copy of list with item in the place of the one with the same key, or
// at the end.
func replaced[T any, K comparable](list []T, item T, key func(*T) K) []T {
	list = slices.Clone(list)
	for i := range list {
		if key(&list[i]) == key(&item) {
			list[i] = item
			return list
		}
	}
	return append(list, item)
}

// content returns what a patch makes of content.
func content(p Patch[[]ContentBlock], current joined) joined {
	if p.IsKeep() {
		return current
	}
	blocks, _ := p.Get()
	return blocksOf(blocks)
}

// planID returns the id of a plan, of whatever form.
func planID(p UnstablePlanUpdateContent) UnstablePlanID {
	switch p := p.(type) {
	case UnstablePlanItems:
		return p.PlanID
	case UnstablePlanFile:
		return p.PlanID
	case UnstablePlanMarkdown:
		return p.PlanID
	case UnstableUnknownPlanUpdateContent:
		var known UnstablePlanRemoved
		if everything.Unmarshal(p.Raw, &known) == nil {
			return known.PlanID
		}
	}
	return ""
}

// now returns the info of an entry that begins.
func (b *StateBuilder) now(s *SessionState) EntryInfo {
	return EntryInfo{Turn: s.turn.Number, Late: b.late(s)}
}

// late reports whether what comes now comes after its turn.
func (b *StateBuilder) late(s *SessionState) bool {
	return s.turn.Number > 0 && (!s.turn.Running || b.over) && !s.turn.Loading
}

// begin appends an entry.
func (b *StateBuilder) begin(s *SessionState, e Entry) int {
	b.last = s.entries.add(e, b.edition)
	b.changed(ChangedEntries)
	return b.last
}

// revise replaces an entry.
func (b *StateBuilder) revise(s *SessionState, i int, e Entry) {
	s.entries.set(i, e, b.edition)
	b.touched(i)
}

// chunk adds a piece to its message.
func (b *StateBuilder) chunk(role MessageRole, c *ContentChunk) {
	if b.state == nil || b.openAt < 0 || b.open.Role != role || b.open.MessageID != c.MessageID {
		b.openMessage(role, c)
		if b.openAt < 0 {
			return
		}
	}
	b.open.content = b.open.content.add(c.Content)
	if c.Meta != nil {
		b.open.Meta = c.Meta
	}
	b.dirty = true
	if len(b.observers) > 0 {
		b.touched(b.openAt)
	}
}

// openMessage opens the message that a chunk belongs to, if it belongs to any.
func (b *StateBuilder) openMessage(role MessageRole, c *ContentChunk) {
	s := b.write()
	if role == MessageUser && b.echoed(s, c) {
		return
	}
	i, ok := b.message(s, role, c.MessageID)
	if !ok {
		i = b.begin(s, MessageEntry{EntryInfo: b.now(s), Role: role, MessageID: c.MessageID})
		if c.MessageID != "" {
			s.index.put(role.key(c.MessageID), i)
		}
	}
	b.open, b.openAt = s.entries.at(i).(MessageEntry), i
	b.open.Late = b.open.Late || b.late(s)
}

// message finds the message that a chunk belongs to.
func (b *StateBuilder) message(s *SessionState, role MessageRole, id MessageID) (int, bool) {
	if b.last >= 0 {
		if m, ok := s.entries.at(b.last).(MessageEntry); ok && m.Role == role && m.MessageID == id {
			if id != "" || b.last >= b.joinFrom && !m.Sent {
				return b.last, true
			}
		}
	}
	if id == "" {
		return 0, false
	}
	return s.find(role.key(id))
}

// echoed reports whether a chunk only repeats the turn's prompt, which is in the transcript
// already. The id that the agent gives it is taken over.
func (b *StateBuilder) echoed(s *SessionState, c *ContentChunk) bool {
	if b.echo == (echo{}) || b.last != b.turnFirst {
		return false
	}
	text := PlainText(c.Content)
	rest, ok := strings.CutPrefix(b.echo.text, text)
	switch {
	case text == "" && b.echo.blocks > 0:
		b.echo.blocks--
	case text != "" && ok:
		b.echo.text = rest
	default:
		b.echo = echo{}
		return false
	}
	m := s.entries.at(b.last).(MessageEntry)
	if c.MessageID != "" && m.MessageID != c.MessageID {
		m.MessageID = c.MessageID
		s.index.put(m.Role.key(c.MessageID), b.last)
		b.revise(s, b.last, m)
	}
	return true
}

// toolCall merges what an update says of a tool call. Nil and null say nothing.
func (b *StateBuilder) toolCall(s *SessionState, u *ToolCall, announced bool) {
	key := entryKey{keyToolCall, string(u.ToolCallID)}
	i, ok := s.find(key)
	if !ok {
		t := ToolCallEntry{EntryInfo: b.now(s), Announced: announced}
		t.Call = ToolCall{ToolCallID: u.ToolCallID, Kind: ToolKindOther, Status: ToolCallPending}
		merge(&t.Call, u)
		s.index.put(key, b.begin(s, t))
		return
	}
	t := s.entries.at(i).(ToolCallEntry)
	merge(&t.Call, u)
	t.Announced = t.Announced || announced
	t.Cancelled = t.Cancelled && u.Status != ToolCallCompleted
	t.Late = t.Late || b.late(s)
	b.revise(s, i, t)
}

func merge(t, u *ToolCall) {
	if u.Title != "" {
		t.Title = u.Title
	}
	if u.Name != "" {
		t.Name = u.Name
	}
	if u.Kind != "" {
		t.Kind = u.Kind
	}
	if u.Status != "" {
		t.Status = u.Status
	}
	if u.Content != nil {
		t.Content = slices.Clone(u.Content)
	}
	if u.Locations != nil {
		t.Locations = slices.Clone(u.Locations)
	}
	if len(u.RawInput) > 0 && u.RawInput.Kind() != 'n' {
		t.RawInput = u.RawInput
	}
	if len(u.RawOutput) > 0 && u.RawOutput.Kind() != 'n' {
		t.RawOutput = u.RawOutput
	}
	if u.Meta != nil {
		t.Meta = u.Meta
	}
	if u.unknown != "" {
		t.unknown = u.unknown
	}
}

// compaction changes a compaction, which begins if it is new.
func (b *StateBuilder) compaction(s *SessionState, id CompactionID, change func(*CompactionEntry)) {
	b.upsert(s, entryKey{keyCompaction, string(id)}, func(was Entry) Entry {
		c, ok := was.(CompactionEntry)
		if !ok {
			c.CompactionID = id
		}
		change(&c)
		return c
	})
}

// sessionMessage changes a message between sessions, which begins if it is new.
func (b *StateBuilder) sessionMessage(s *SessionState, id MessageID, change func(*UnstableSessionMessageEntry)) {
	b.upsert(s, entryKey{keySessionMessage, string(id)}, func(was Entry) Entry {
		m, ok := was.(UnstableSessionMessageEntry)
		if !ok {
			m.MessageID = id
		}
		change(&m)
		return m
	})
}

// upsert changes the entry of a key, or begins it: then was is nil.
func (b *StateBuilder) upsert(s *SessionState, key entryKey, change func(was Entry) Entry) {
	i, ok := s.find(key)
	if !ok {
		s.index.put(key, b.begin(s, change(nil).with(b.now(s))))
		return
	}
	was := s.entries.at(i)
	info := was.Info()
	info.Late = info.Late || b.late(s)
	b.revise(s, i, change(was).with(info))
}

func (b *StateBuilder) setMode(s *SessionState, mode SessionModeID) {
	m := SessionModeState{}
	if s.modes != nil {
		m = *s.modes
	}
	m.CurrentModeID = mode
	s.modes = &m
	b.changed(ChangedModes)
}
