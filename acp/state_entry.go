package acp

import (
	"slices"
	"strings"
)

// An Entry is one thing in the transcript of a [SessionState]. It keeps its index for as
// long as the session is not loaded again.
//
// It is one of these types, as a value:
//
//   - [MessageEntry]
//   - [ToolCallEntry]
//   - [CompactionEntry]
//   - [NoticeEntry]
//   - [UnstableSessionMessageEntry]
//
//sumtype:decl
type Entry interface {
	// Info tells when the entry came.
	Info() EntryInfo
	with(info EntryInfo) Entry
}

// EntryInfo tells when an entry came.
type EntryInfo struct {
	// Turn is the number of the turn in which the entry began, or after which it did; 0 is
	// before the first turn of this connection, which includes everything replayed.
	Turn int
	// Late is set when some of the entry came after the turn's answer and before the next
	// turn: an agent that works in the background, or one that is not in order.
	Late bool
}

// Info returns i itself.
func (i EntryInfo) Info() EntryInfo { return i }

// MessageRole says whose words a [MessageEntry] holds.
type MessageRole uint8

// The values of MessageRole.
const (
	MessageUser MessageRole = iota
	MessageAgent
	MessageThought
)

// String returns "user", "agent" or "thought".
func (r MessageRole) String() string {
	switch r {
	case MessageUser:
		return "user"
	case MessageAgent:
		return "agent"
	}
	return "thought"
}

// key returns what names a message of the role.
func (r MessageRole) key(id MessageID) entryKey { return entryKey{entryKind(r), string(id)} }

// A MessageEntry is a message of the user or the agent, or a thought, put together from
// its chunks: those of one message id, or, without ids, those that follow one another with
// no other entry than a notice between them.
type MessageEntry struct {
	EntryInfo
	Role      MessageRole
	MessageID MessageID // empty if the agent gave none
	Sent      bool      // a prompt of this client; what the agent repeats of it is not added
	Meta      Meta      // of the last chunk that had any

	content joined
}

// Text returns the message's text, as [PlainText] does. It costs nothing for a message of
// plain text alone.
func (m MessageEntry) Text() string { return m.content.Text() }

// Content returns the message's blocks; plain text that followed one another is one block.
func (m MessageEntry) Content() []ContentBlock { return m.content.Content() }

func (m MessageEntry) with(info EntryInfo) Entry { m.EntryInfo = info; return m }

// A ToolCallEntry is a tool call as all updates about it have left it.
type ToolCallEntry struct {
	EntryInfo
	// Call is the tool call; its Kind and Status are never empty. What it refers to must not
	// be changed.
	Call ToolCall
	// Announced is set when a tool_call named it; some agents only send updates.
	Announced bool
	// Cancelled is set when the turn was cancelled while the call had not ended. The status
	// stays what the agent said last, which is often ToolCallFailed later; ToolCallCompleted
	// takes the mark back.
	Cancelled bool
}

// Ended reports whether nothing more is expected of the call: it is completed, failed or
// cancelled.
func (t ToolCallEntry) Ended() bool {
	return t.Cancelled || t.Call.Status == ToolCallCompleted || t.Call.Status == ToolCallFailed
}

func (t ToolCallEntry) with(info EntryInfo) Entry { t.EntryInfo = info; return t }

// A CompactionEntry is a shortening of the conversation that the model sees, at the place
// where it was first named.
type CompactionEntry struct {
	EntryInfo
	CompactionID CompactionID
	Status       CompactionStatus // empty while only its summary was seen
	Error        string
	Meta         Meta

	summary joined
}

// Summary returns the blocks that stand for what was shortened.
func (c CompactionEntry) Summary() []ContentBlock { return c.summary.Content() }

// Text returns the summary's text, as [PlainText] does.
func (c CompactionEntry) Text() string { return c.summary.Text() }

func (c CompactionEntry) with(info EntryInfo) Entry { c.EntryInfo = info; return c }

// A NoticeEntry is a notice at the place where it came. It is not replayed by a load, and
// it does not part the message around it.
type NoticeEntry struct {
	EntryInfo
	Notice Notice
}

func (n NoticeEntry) with(info EntryInfo) Entry { n.EntryInfo = info; return n }

// An UnstableSessionMessageEntry is a message between sessions.
//
// Unstable: it may change or go, and is off until a connection opts in.
type UnstableSessionMessageEntry struct {
	EntryInfo
	MessageID          MessageID
	SenderSessionID    SessionID
	RecipientSessionID SessionID
	SenderMessageID    MessageID
	RecipientMessageID MessageID
	Meta               Meta

	content joined
}

// Content returns the message's blocks.
func (m UnstableSessionMessageEntry) Content() []ContentBlock { return m.content.Content() }

// Text returns the message's text, as [PlainText] does.
func (m UnstableSessionMessageEntry) Text() string { return m.content.Text() }

func (m UnstableSessionMessageEntry) with(info EntryInfo) Entry { m.EntryInfo = info; return m }

// A joined is content that comes in pieces. It is a value: adding makes a new one, and the
// old one stays as it was. Pieces are added to the newest one only, which is what lets all
// of them share their storage.
type joined struct {
	blocks []ContentBlock   // before text
	text   string           // plain text at the end
	buf    *strings.Builder // holds text once it is more than one piece
}

// add returns j with one more block. Plain text costs its own length.
func (j joined) add(b ContentBlock) joined {
	t, ok := b.(TextContent)
	if !ok || t.Annotations != nil || len(t.Meta) > 0 || t.unknown != "" {
		if j.text != "" {
			j.blocks = append(j.blocks, Text(j.text))
			j.text, j.buf = "", nil
		}
		if b != nil {
			j.blocks = append(j.blocks, b)
		}
		return j
	}
	switch {
	case j.text == "":
		j.text = t.Text
	case j.buf == nil:
		j.buf = &strings.Builder{}
		j.buf.WriteString(j.text)
		fallthrough
	default:
		j.buf.WriteString(t.Text)
		j.text = j.buf.String() // shares the builder's storage, which is only added to
	}
	return j
}

// blocksOf returns blocks as they are.
func blocksOf(blocks []ContentBlock) joined { return joined{blocks: slices.Clone(blocks)} }

// Text returns the text of all blocks.
func (j joined) Text() string {
	if len(j.blocks) == 0 {
		return j.text
	}
	return PlainText(j.blocks...) + j.text
}

// Content returns all blocks.
func (j joined) Content() []ContentBlock {
	if j.text == "" {
		return slices.Clone(j.blocks)
	}
	return append(slices.Clone(j.blocks), Text(j.text))
}
