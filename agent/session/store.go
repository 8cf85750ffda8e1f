package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
)

// Store keeps sessions. Implementations are safe for concurrent use, also by several processes on the same data.
type Store interface {
	// Create makes a session with its first event. It is on the disk when Create returns.
	Create(ctx context.Context, id string, first Created) error
	// Fork makes a session that begins with everything that another one holds, which is not changed: its events byte for
	// byte, its folders, title and settings. A turn that somebody runs there just now is left out. It fails with
	// [ErrNotFound].
	Fork(ctx context.Context, parent, id string) error
	// Acquire takes the session's lease: only its holder appends. It fails with [ErrNotFound] or a [*HeldError].
	// A lease left behind by a process that is gone is taken over, at once when that process is known to be dead, else
	// when it has expired.
	Acquire(ctx context.Context, id string) (Lease, error)
	// Events yields the stored events with a number above after, in order, ending with one error if reading fails.
	// An event of an unknown kind (written by a newer wherry) is yielded as [Unknown].
	Events(ctx context.Context, id string, after int64) iter.Seq2[Event, error]
	// Get describes one session, or fails with [ErrNotFound].
	Get(ctx context.Context, id string) (Info, error)
	// List describes sessions, newest first, without opening a transcript. It fails with [ErrBadCursor] or [ErrNoWords].
	List(ctx context.Context, filter Filter) (Page, error)
	// Delete removes a session and everything stored for it. Deleting one that is not there is no error; one that
	// another process holds fails with a [*HeldError].
	Delete(ctx context.Context, id string) error
	// Close releases every lease taken through this store and closes it.
	Close() error
}

// Lease is the right to append to one session. Its methods are safe for concurrent use.
type Lease interface {
	// Session is the session's id.
	Session() string
	// Append stores events in one transaction, in order, and returns them numbered. They are on the disk (synced)
	// when Append returns. It fails with [ErrLeaseLost] when another writer has taken over.
	Append(ctx context.Context, data ...Data) ([]Event, error)
	// Release gives the session free. Idempotent.
	Release(ctx context.Context) error
}

// Info describes a session without its transcript.
type Info struct {
	ID      string
	Roots   []string
	Title   string // empty before the first prompt
	Created time.Time
	Updated time.Time // of the newest turn or title
	Turns   int
	Model   string
	Mode    approval.Mode     // as it is stored; empty for a session of an older version
	Options map[string]string // as in [State]
	Match   string            // where a listing has found the text it was made with: a line; empty for a match in the title
}

// Filter selects sessions.
type Filter struct {
	Folder string // exactly this first root; empty for all
	// Text has the listing search: for sessions in whose title, or in one of whose prompts or answers, all its words are
	// the beginnings of words. Case and accents make no difference. What a running turn says is found when it has ended.
	Text   string
	Cursor string // from the page before; empty for the first
	Limit  int    // 0 means 50
}

// Page is a part of a listing.
type Page struct {
	Sessions []Info
	Next     string // empty at the end
}

// Unknown is an event that this version does not know.
type Unknown struct {
	Name Kind
	Raw  []byte // JSON
}

// Kind implements [Data].
func (u Unknown) Kind() Kind { return u.Name }

// Errors of stores.
var (
	// ErrNotFound says that there is no such session.
	ErrNotFound = errors.New("no such session")
	// ErrLeaseLost says that another writer has taken the session.
	ErrLeaseLost = errors.New("another process has taken over this session")
	// ErrBadCursor says that a cursor did not come from List.
	ErrBadCursor = errors.New("not a cursor from an earlier listing")
)

// HeldError says who is writing to a session just now.
type HeldError struct {
	Session string
	Owner   string // "wherry acp, process 4711 on host"
	Until   time.Time
}

// Error names the holder.
func (e *HeldError) Error() string {
	return fmt.Sprintf("session %s is in use by %s", e.Session, e.Owner)
}
