// Package host is what the agent may touch: files below the session's roots and commands. The local host works on this
// machine; an editor's host decorates it and reads unsaved buffers, writes through the editor and runs commands in the
// editor's terminals.
package host

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"
)

// Capability names a thing a host may be able to do. A tool that needs more than its host can is not offered to the model.
type Capability string

// The capabilities.
const (
	CanRead  Capability = "read"
	CanWrite Capability = "write"
	CanRun   Capability = "run"
)

// Host reads, writes and runs. Implementations are safe for concurrent use.
//
// Paths are absolute or relative to the first root. Every path is cleaned and its symlinks are resolved before it is
// compared with the roots; a path that leaves them is refused with an [*OutsideError]. Errors wrap [fs.ErrNotExist],
// [fs.ErrPermission] and the like where they apply, and their text is a sentence that starts with the path as given.
type Host interface {
	// Roots are the session's folders, absolute and resolved; the first is the working folder.
	Roots() []string
	// Can tells whether the host is able to do c.
	Can(c Capability) bool
	// Resolve gives the absolute, resolved path, and its place below a root with forward slashes (for showing). The
	// path need not exist; its existing part is resolved.
	Resolve(path string) (Path, error)
	// Stat describes a file or folder.
	Stat(ctx context.Context, path string) (Info, error)
	// List gives the entries of a folder, sorted by name, folders first.
	List(ctx context.Context, path string) ([]Info, error)
	// Walk calls visit for every regular file below path, in a stable order, leaving out what ignore files (.gitignore,
	// .ignore, .aiignore) and the built-in list (.git, node_modules, …) leave out. It stops at visit's error, or
	// quietly at [fs.SkipAll].
	Walk(ctx context.Context, path string, visit func(Info) error) error
	// Read gives a text file as the person sees it: the unsaved buffer where an editor offers it. A file that is not
	// text is refused with [ErrBinary], one over the host's limit with [ErrTooLarge].
	Read(ctx context.Context, path string) (Text, error)
	// ReadBytes gives a regular file's bytes from the disk, at most limit of them (an error above that).
	ReadBytes(ctx context.Context, path string, limit int64) ([]byte, error)
	// Write replaces or creates a file. base is the version the new content was made from: that of a Read, or
	// [Absent] when the file must not be there yet. If what is there now is another version, nothing is written and
	// the error is [ErrChanged]. Encoding, byte-order mark, line endings and mode are kept. It returns the new version.
	Write(ctx context.Context, path string, text Text, base Version) (Version, error)
	// Run starts a command. It returns once the command runs; the caller must call Wait and then Close.
	Run(ctx context.Context, cmd Command) (Process, error)
}

// Path is a resolved path.
type Path struct {
	Abs  string // absolute, symlinks resolved
	Root string // the root it is below
	Rel  string // below Root, forward slashes, "." for the root itself
	Show string // what a person sees: Rel for the first root, Abs elsewhere
}

// Info describes a file or folder.
type Info struct {
	Path    Path
	Dir     bool
	Regular bool
	Size    int64
	Mode    fs.FileMode
	ModTime time.Time
}

// Source says where a text came from.
type Source string

// The sources.
const (
	FromDisk   Source = "disk"
	FromEditor Source = "editor"
)

// Version identifies the content of a file at one moment, and where it was read. It is comparable; the zero value
// stands for nothing that was ever read.
type Version struct {
	Source Source `json:"source,omitzero"` // empty for Absent
	Digest string `json:"digest"`          // SHA-256 of the text as the source gave it, hex; "absent" for Absent
}

// Absent is the version of a file that does not exist.
var Absent = Version{Digest: "absent"}

// Text is the content of a text file, UTF-8, with uniform line endings turned into "\n". Format says how to turn it back.
type Text struct {
	Content string
	Format  Format
	Version Version
}

// Format is how a text is stored. The zero value is UTF-8 without byte-order mark and "\n" line endings.
type Format struct {
	Encoding string // "" for UTF-8, else "utf-16le", "utf-16be", "windows-1252", …
	BOM      bool
	CRLF     bool // every line ending in the file is "\r\n"; files with mixed endings keep theirs inside Content
}

// Command is what to run.
type Command struct {
	Line    string        // a shell line, run by the user's shell
	Dir     string        // working folder; empty for the first root
	Env     []string      // added to the host's clean environment, KEY=VALUE
	Timeout time.Duration // 0 for none
	Quiet   time.Duration // how long it may write nothing before it is ended; 0 for no such limit
	// Output is called with each piece of combined output, in order, never concurrently. It may be nil.
	Output func(chunk []byte)
	// KeepBytes bounds the output kept for [Exit]: the head and the tail are kept, each half. 0 means 64 KiB.
	KeepBytes int
}

// Process is a running command.
type Process interface {
	// Terminal is the id of the editor's terminal the command runs in, empty when it runs locally.
	Terminal() string
	// Wait blocks until the command has ended, its output has been delivered, or ctx ends: then the whole process
	// group is killed, the rest is awaited for a bounded time, and the exit says so. Background children cannot hold it.
	Wait(ctx context.Context) (Exit, error)
	// Close kills what is left of the process group and frees the terminal. Idempotent.
	Close() error
}

// Exit is how a command ended.
type Exit struct {
	Code     int    // exit code; -1 when a signal ended it or it never ended
	Signal   string // "SIGKILL" and the like; empty for a normal exit
	TimedOut bool
	Quieted  bool   // ended because it wrote nothing for [Command].Quiet
	Output   string // head and tail of the combined output, valid UTF-8, with a line saying what was left out between
	Total    int64  // bytes of output in all
	Duration time.Duration
	// Left tells that the command had ended and processes that it had started were still running: they were ended too.
	Left bool
}

// Errors of hosts.
var (
	// ErrChanged refuses a write whose base is no longer what is there.
	ErrChanged = errors.New("the file has changed since it was read")
	// ErrBinary refuses to read a file as text.
	ErrBinary = errors.New("not a text file")
	// ErrTooLarge refuses to read a file over the limit.
	ErrTooLarge = errors.New("too large to read")
	// ErrUnsupported is returned for a capability that the host does not have.
	ErrUnsupported = errors.New("not offered here")
)

// OutsideError refuses a path that is not below a root.
type OutsideError struct {
	Path  string // as given
	Abs   string // where it leads
	Roots []string
}

// Error says where the path leads and what the roots are.
func (e *OutsideError) Error() string {
	return e.Path + ": is outside the session's folders (" + strings.Join(e.Roots, ", ") + ")"
}
