// Package tool is what the model can do: one Tool interface and one file a tool. A call is prepared first, without any
// effect, so that a person can see exactly what will happen; then the gate decides; then the very same prepared call runs.
package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

// Tool is something the model can call. Implementations hold no state of a session and are safe for concurrent use.
type Tool interface {
	Spec() Spec
	// Prepare checks the arguments, reads what it must, and works out what the call will do. It has no effect. Its
	// error is a sentence for the model that says what was wrong and how to do better.
	Prepare(ctx context.Context, env Env, args json.RawMessage) (Call, error)
}

// Spec describes a tool.
type Spec struct {
	Name        string
	Description string          // for the model
	Schema      json.RawMessage // JSON Schema of the arguments
	Needs       []host.Capability
	ReadOnly    bool // calls may run side by side with other read-only ones
	Planning    bool // offered in mode plan only
}

// Env is what a call may use.
type Env struct {
	Host    host.Host
	Views   Views
	Plan    Plan
	Folders Folders
	// AfterPlan is the mode that the session has once a plan is approved.
	AfterPlan approval.Mode
}

// Views remembers which version of each file the model has seen in this session.
type Views interface {
	// Seen gives the version last seen of the file at the absolute path, and whether there was one.
	Seen(abs string) (host.Version, bool)
}

// Plan is the session's plan.
type Plan interface {
	Entries() []PlanEntry
}

// PlanEntry is one task of the plan.
type PlanEntry struct {
	Content  string     `json:"content"`
	Status   PlanStatus `json:"status"`
	Priority string     `json:"priority,omitzero"` // "high", "medium" (the default) or "low"
}

// PlanStatus is how far a task is.
type PlanStatus string

// The states of a task.
const (
	PlanPending    PlanStatus = "pending"
	PlanInProgress PlanStatus = "in_progress"
	PlanCompleted  PlanStatus = "completed"
)

// Call is a prepared call. It is used once, by one goroutine.
type Call interface {
	// Presentation is what the person sees before and after the call.
	Presentation() Presentation
	// Run does it. A failure is a Result with Failed set, never a panic. When what was prepared can no longer be done as
	// presented (the file changed), nothing is done and Result.ChangedBase is set: the caller prepares again and asks again.
	Run(ctx context.Context, out Output) Result
}

// Output takes what a running call shows while it runs. Its methods must not block for long.
type Output interface {
	// Text adds to the live output of the call.
	Text(chunk string)
	// Terminal embeds the editor's terminal with this id.
	Terminal(id string)
}

// Kind is the kind of a call, for the icon an editor shows; the protocol's tool kinds.
type Kind string

// The kinds.
const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindThink   Kind = "think"
	KindFetch   Kind = "fetch"
	KindOther   Kind = "other"

	KindSwitchMode Kind = "switch_mode"
)

// Presentation is what a call will do, exactly.
type Presentation struct {
	Class     approval.Class `json:"class"`
	Title     string         `json:"title"` // one line, at most 120 characters
	Kind      Kind           `json:"kind"`
	Locations []Location     `json:"locations,omitzero"` // existing files, absolute paths
	Diffs     []Diff         `json:"diffs,omitzero"`     // edits: every file, whole before and after
	Command   *CommandView   `json:"command,omitzero"`   // commands: exactly what will run
	Request   *RequestView   `json:"request,omitzero"`   // calls to another program's tools: exactly what is sent
	Questions []Question     `json:"questions,omitzero"` // what the person is asked
	Folder    *FolderView    `json:"folder,omitzero"`    // what is to be added to the session's folders
	Plan      *PlanView      `json:"plan,omitzero"`      // what is to be approved
	Stale     bool           `json:"stale,omitzero"`     // see [approval.Subject]
}

// Location is a place in a file.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"` // 1-based; 0 for none
}

// Diff is one file before and after. Old is nil for a new file.
type Diff struct {
	Path string       `json:"path"` // absolute
	Old  *string      `json:"old,omitzero"`
	New  string       `json:"new"`
	Base host.Version `json:"base"`
}

// CommandView is a command as a person must see it.
type CommandView struct {
	Line string `json:"line"`
	Dir  string `json:"dir"` // absolute
}

// RequestView is a call to a tool that another program offers, as a person must see it.
type RequestView struct {
	Server string          `json:"server"` // as it was configured
	Tool   string          `json:"tool"`   // as the server calls it
	Args   json.RawMessage `json:"args"`   // a JSON object
}

// Digest identifies what was presented. An approval is bound to it: two presentations with the same digest do the same.
func (p Presentation) Digest() string {
	p.Title, p.Locations = "", nil
	data, err := json.Marshal(p)
	if err != nil { // plain data always marshals
		panic(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Result is how a call ended.
type Result struct {
	Text    string          `json:"text"`             // for the model; also shown when Display is empty
	Display string          `json:"display,omitzero"` // for the person, Markdown, when it should differ
	Images  []Image         `json:"images,omitzero"`
	Failed  bool            `json:"failed,omitzero"`
	Views   map[string]View `json:"views,omitzero"`   // files the model has now seen, by absolute path
	Changed []string        `json:"changed,omitzero"` // files written, absolute paths
	// Diverged are files that a command changed on the disk while the editor has another text of them, by absolute path,
	// with the digest of the text on the disk.
	Diverged    map[string]string `json:"diverged,omitzero"`
	Plan        []PlanEntry       `json:"plan,omitzero"` // the new plan, when SetsPlan
	SetsPlan    bool              `json:"setsPlan,omitzero"`
	Ended       *CommandEnd       `json:"ended,omitzero"` // of a command that was started
	ChangedBase bool              `json:"-"`              // see [Call].Run; nothing was done
}

// CommandEnd is how a command ended.
type CommandEnd struct {
	Code   int    `json:"code"`            // exit code; -1 when a signal ended it or it is not known
	Signal string `json:"signal,omitzero"` // "SIGKILL" and the like
	Output int    `json:"output,omitzero"` // where in [Result].Text the output begins; 0 when there is none
}

// View is what the model saw of a file.
type View struct {
	Version host.Version `json:"version"`
}

// Image is a picture in a result, decoded.
type Image struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

// Failure is a failed result with a sentence for the model.
func Failure(text string) Result { return Result{Text: text, Failed: true} }
