// Package approval is the gate: it decides whether a tool call may run, must be refused, or needs a person's word. The
// decision is a pure function; asking people is the caller's job.
package approval

// Mode is how much the agent may do unasked, strictest first.
type Mode string

// The modes.
const (
	ModeOff   Mode = "off"   // nothing is written and nothing is run
	ModePlan  Mode = "plan"  // likewise, until a person approves a plan
	ModeAsk   Mode = "ask"   // every write and every command asks
	ModeEdits Mode = "edits" // file edits inside the roots run unasked, commands ask
	ModeAuto  Mode = "auto"  // edits and commands inside the roots run unasked
)

// Modes are all modes, strictest first.
func Modes() []Mode { return []Mode{ModeOff, ModePlan, ModeAsk, ModeEdits, ModeAuto} }

// Valid tells whether m is one of the modes.
func (m Mode) Valid() bool {
	switch m {
	case ModeOff, ModePlan, ModeAsk, ModeEdits, ModeAuto:
		return true
	}
	return false
}

// Class is what kind of effect a call has.
type Class string

// The classes.
const (
	ClassRead      Class = "read"      // reads inside the roots
	ClassNote      Class = "note"      // touches only the conversation itself: the plan
	ClassEdit      Class = "edit"      // creates or changes files inside the roots
	ClassExecute   Class = "execute"   // runs a command
	ClassNetwork   Class = "network"   // talks to other machines
	ClassSecret    Class = "secret"    // reads or writes a file that usually holds secrets
	ClassServer    Class = "server"    // calls a tool of an MCP server whose word does not count
	ClassProtected Class = "protected" // changes a file that runs code or configures tools: .git, hooks, editor settings
	ClassWiden     Class = "widen"     // adds a folder to those of the session
	ClassPlan      Class = "plan"      // begins the work that a plan says, out of mode plan
)

// Scope is how long an approval lasts.
type Scope string

// The scopes.
const (
	ScopeOnce    Scope = "once"
	ScopeSession Scope = "session" // every later edit of ClassEdit in this session; offered for an edit or a plan
	ScopeCommand Scope = "command" // exactly this command in this folder, in this session; offered for a command
	ScopeTool    Scope = "tool"    // every call of this tool of an MCP server, until the session is closed or its servers change
)

// Command is a command and where it runs. Two commands are the same only when both are equal, letter by letter.
type Command struct {
	Line string `json:"line"`
	Dir  string `json:"dir"` // absolute
}

// Subject is what is decided on.
type Subject struct {
	Tool    string
	Class   Class
	Command Command // of [ClassExecute], when it is known
	Server  bool    // the tool is one of an MCP server
	Stale   bool    // made from a text that is not what the model last saw: a person must see the new diff
}

// Policy is what the decision depends on besides the subject.
type Policy struct {
	Mode         Mode
	SessionEdits bool      // the person allowed every edit of this session
	Commands     []Command // those that the person allowed for this session
	Tools        []string  // of MCP servers, by the names that the model knows: those that the person allowed
	OnceOnly     bool      // what a person allows holds for the one call
	After        Mode      // in mode plan, the mode that the session has once a plan is approved
}

// Verdict is the gate's answer.
type Verdict string

// The verdicts.
const (
	Allow  Verdict = "allow"
	Refuse Verdict = "refuse"
	Ask    Verdict = "ask"
)

// Decision is the gate's answer with its reason, which is shown to the person and, on refusal, to the model.
type Decision struct {
	Verdict Verdict
	Reason  string  // names the rule: "mode edits", "reads inside the roots", "mode off: nothing is written"
	Scopes  []Scope // for Ask: what the person may choose, ScopeOnce always among them
}
