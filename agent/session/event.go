// Package session is the log that a conversation is: numbered events, appended by one writer at a time, and the
// projections that everything else is made from.
package session

import (
	"encoding/json"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/tool"
)

// Event is one entry of a session's log, or something live that is shown and not kept (Seq is 0 then).
type Event struct {
	Session string
	Seq     int64 // rises by one within the session, from 1
	Time    time.Time
	Data    Data
}

// Data is what happened; one struct a kind. The set is closed.
type Data interface {
	// Kind is the stable name under which the event is stored.
	Kind() Kind
}

// Kind names what happened.
type Kind string

// Created begins a session.
type Created struct {
	Roots []string      `json:"roots"` // absolute; the first is the working folder
	Mode  approval.Mode `json:"mode"`
	Model string        `json:"model"` // provider/name
	// Options are further choices, as in [Configured].
	Options map[string]string `json:"options,omitzero"`
}

// Titled names the session.
type Titled struct {
	Title string `json:"title"`
	By    string `json:"by"` // "prompt", "model" or "person"; a person's title is never replaced by another
}

// Configured changes what the session works with. Empty fields are unchanged.
type Configured struct {
	Mode approval.Mode `json:"mode,omitzero"`
	// Before is the mode to go back to once a plan is approved, when Mode is [approval.ModePlan].
	Before approval.Mode `json:"before,omitzero"`

	Model string `json:"model,omitzero"`
	// Options are further choices, by name; those that are not named are unchanged, an empty value takes one back.
	Options map[string]string `json:"options,omitzero"`
	// Edits is set when the person allowed every edit of this session.
	Edits bool `json:"edits,omitzero"`
}

// Rooted replaces the session's folders.
type Rooted struct {
	Roots []string `json:"roots"`
}

// TurnStarted is a prompt taken.
type TurnStarted struct {
	Turn    string  `json:"turn"`
	Message string  `json:"message"` // the user message's id
	Prompt  []Block `json:"prompt"`  // as the person sent it
	// Command is the name of the command that the prompt is and wherry itself answers: the model does not get it.
	Command string `json:"command,omitzero"`
	// Sent is what the model gets in place of Prompt, which is then a command that stands for it.
	Sent []Block `json:"sent,omitzero"`
	// Again says that the turn goes on with the prompt before, which was not answered to its end.
	Again bool `json:"again,omitzero"`
	// Mode is the mode that the command asks for where it is stricter than the session's; empty for none.
	Mode approval.Mode `json:"mode,omitzero"`
}

// Steered is a prompt that was taken into the turn that was running.
type Steered struct {
	Turn    string  `json:"turn"`
	Message string  `json:"message"` // the user message's id
	Prompt  []Block `json:"prompt"`
}

// Attached is what was read for the model of the files and folders that a prompt points at. It belongs to the prompt before
// it.
type Attached struct {
	Message string               `json:"message"` // the user message's id
	Blocks  []Block              `json:"blocks"`
	Views   map[string]tool.View `json:"views,omitzero"` // files the model has now seen, by absolute path
}

// CommandAnswered is the answer to a command. The model does not get it.
type CommandAnswered struct {
	Message string `json:"message"` // its id
	Text    string `json:"text"`    // Markdown
}

// CompactionStarted begins the shortening of what the model gets.
type CompactionStarted struct {
	ID string `json:"id"`
}

// CompactionEnded ends it. When it is completed the model gets the summary in place of everything before, but for the events
// numbered above Kept.
type CompactionEnded struct {
	ID      string           `json:"id"`
	Status  CompactionStatus `json:"status"`
	Summary string           `json:"summary,omitzero"`
	Kept    int64            `json:"kept,omitzero"`
	Error   string           `json:"error,omitzero"`   // a sentence for the person, when it failed
	Nothing bool             `json:"nothing,omitzero"` // it failed because there was nothing to shorten
	// Tokens is about how much of the context is used when it is completed, and Window how much the model takes; 0 when
	// unknown.
	Tokens int `json:"tokens,omitzero"`
	Window int `json:"window,omitzero"`
}

// CompactionStatus tells how a compaction ended.
type CompactionStatus string

// The ends of a compaction.
const (
	CompactionCompleted CompactionStatus = "completed"
	CompactionFailed    CompactionStatus = "failed"
	CompactionCancelled CompactionStatus = "cancelled"
)

// Cleared has the conversation begin anew for the model: it gets nothing from before. The person keeps it all in view.
type Cleared struct{}

// Block is a piece of a prompt as the client sent it.
type Block struct {
	Type     BlockType `json:"type"`
	Text     string    `json:"text,omitzero"`
	MIMEType string    `json:"mimeType,omitzero"`
	Data     []byte    `json:"data,omitzero"` // images, audio and binary files, decoded
	URI      string    `json:"uri,omitzero"`
	Name     string    `json:"name,omitzero"` // of a link
	// Lines says which lines of the file Text holds, such as "5-9 of 120", when it was read for the prompt and is not whole.
	Lines string `json:"lines,omitzero"`
}

// BlockType is the kind of a [Block].
type BlockType string

// The block types.
const (
	BlockText  BlockType = "text"
	BlockImage BlockType = "image"
	BlockAudio BlockType = "audio"
	BlockFile  BlockType = "file" // an embedded file: URI, and Text or Data
	BlockLink  BlockType = "link" // a reference: URI and Name
)

// TurnEnded is the end of a turn.
type TurnEnded struct {
	Turn   string      `json:"turn"`
	Reason StopReason  `json:"reason"`
	Usage  model.Usage `json:"usage,omitzero"`
	// Error is the sentence shown to the person when the turn failed, and ErrorKind its sort, empty otherwise.
	Error     string          `json:"error,omitzero"`
	ErrorKind model.ErrorKind `json:"errorKind,omitzero"`
}

// StopReason tells how a turn ended.
type StopReason string

// The reasons. Interrupted is given by whoever finds a turn without an end after a crash.
const (
	StopEndTurn     StopReason = "end_turn"
	StopMaxTokens   StopReason = "max_tokens"
	StopMaxSteps    StopReason = "max_turn_requests"
	StopRefusal     StopReason = "refusal"
	StopCancelled   StopReason = "cancelled"
	StopFailed      StopReason = "failed"
	StopInterrupted StopReason = "interrupted"
)

// Speaker says whose words a message is.
type Speaker string

// The speakers.
const (
	Assistant Speaker = "assistant"
	Thinking  Speaker = "thought"
)

// MessageDelta is a piece of a message as it streams. Live only.
type MessageDelta struct {
	Message string  `json:"message"`
	Speaker Speaker `json:"speaker"`
	Text    string  `json:"text"`
}

// MessageSaved is what streamed of a message since the last MessageSaved, so that a crash loses no more than a moment.
// A message's text is its MessageSaved texts joined.
type MessageSaved struct {
	Message string  `json:"message"`
	Speaker Speaker `json:"speaker"`
	Text    string  `json:"text"`
}

// MessageDone completes a message. Without it the message was cut short.
type MessageDone struct {
	Message  string          `json:"message"`
	Speaker  Speaker         `json:"speaker"`
	Provider string          `json:"provider,omitzero"` // for Opaque
	Opaque   json.RawMessage `json:"opaque,omitzero"`
}

// CallRequested is a tool call the model asked for. Call is unique in the session; ModelID is the model's own id.
type CallRequested struct {
	Call     string          `json:"call"`
	ModelID  string          `json:"modelId"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"` // valid JSON: invalid arguments are kept as a JSON string
	Provider string          `json:"provider,omitzero"`
	Opaque   json.RawMessage `json:"opaque,omitzero"`
}

// CallPresented is what the call will do, as a person sees it. A later one replaces an earlier one.
type CallPresented struct {
	Call         string            `json:"call"`
	Presentation tool.Presentation `json:"presentation"`
}

// CallStarted says that the call is allowed, by which rule, and runs from now on.
type CallStarted struct {
	Call string `json:"call"`
	Rule string `json:"rule"`
}

// CallOutput is live output of a running call. Live only.
type CallOutput struct {
	Call     string `json:"call"`
	Text     string `json:"text,omitzero"`
	Terminal string `json:"terminal,omitzero"` // id of the editor's terminal to embed
}

// CallDone ends a call. Every CallRequested gets one, after a refusal, a cancel or a crash too.
type CallDone struct {
	Call   string      `json:"call"`
	Status CallStatus  `json:"status"`
	Result tool.Result `json:"result"`
}

// CallStatus is how a call ended.
type CallStatus string

// The ends of a call.
const (
	CallCompleted   CallStatus = "completed"
	CallFailed      CallStatus = "failed"
	CallRefused     CallStatus = "refused"     // by the gate or the person
	CallCancelled   CallStatus = "cancelled"   // the turn was cancelled
	CallInterrupted CallStatus = "interrupted" // the process died; whether it had an effect is not known
)

// PermissionAsked is a question to the person, about exactly what Digest identifies.
type PermissionAsked struct {
	Call   string           `json:"call"`
	Digest string           `json:"digest"`
	Reason string           `json:"reason"`
	Scopes []approval.Scope `json:"scopes"`
}

// PermissionAnswered is the answer, or why there was none.
type PermissionAnswered struct {
	Call   string           `json:"call"`
	Digest string           `json:"digest"`
	Answer PermissionAnswer `json:"answer"`
	Scope  approval.Scope   `json:"scope,omitzero"`
	Reason string           `json:"reason,omitzero"` // the person's note, or why nobody answered
	By     string           `json:"by,omitzero"`     // who answered: the client's name
}

// PermissionAnswer is what a person said.
type PermissionAnswer string

// The answers.
const (
	Allowed    PermissionAnswer = "allowed"
	Rejected   PermissionAnswer = "rejected"
	Unanswered PermissionAnswer = "unanswered" // nobody listening, lost, timed out or cancelled: refused
)

// CommandAllowed lets exactly this command run unasked in this session.
type CommandAllowed struct {
	Command approval.Command `json:"command"`
}

// Forgotten takes back what the person allowed for the session.
type Forgotten struct {
	Edits    bool               `json:"edits,omitzero"` // that every edit is allowed
	Commands []approval.Command `json:"commands,omitzero"`
}

// QuestionAsked puts the model's questions to the person.
type QuestionAsked struct {
	Call      string          `json:"call"`
	Questions []tool.Question `json:"questions"`
}

// QuestionAnswered is what became of them.
type QuestionAnswered struct {
	Call    string       `json:"call"`
	Answers tool.Answers `json:"answers"`
	By      string       `json:"by,omitzero"` // who answered: the client's name
	// Message is the id of the message in which the questions stand in the conversation, and Text their Markdown, when the
	// outcome is [tool.Put].
	Message string `json:"message,omitzero"`
	Text    string `json:"text,omitzero"`
}

// PlanChanged is the whole new plan.
type PlanChanged struct {
	Entries []tool.PlanEntry `json:"entries"`
}

// UsageRecorded counts one request of a model.
type UsageRecorded struct {
	Model  string      `json:"model"`
	Usage  model.Usage `json:"usage"`
	Window int         `json:"window,omitzero"` // tokens the model takes; 0 when unknown
	// Cost is in US dollars, by the price that held then; nil when that is not known.
	Cost *float64 `json:"cost,omitzero"`
	Job  Job      `json:"job,omitzero"`
}

// Job is what a request was for, when it was not for the conversation itself.
type Job string

// The jobs.
const (
	JobSummary Job = "summary"
	JobTitle   Job = "title"
)

// ContextMeasured tells how full the model's context is, and what the session has cost. Live only: it follows from the
// other events.
type ContextMeasured struct {
	Used   int  `json:"used"`   // tokens
	Window int  `json:"window"` // tokens, never 0
	Cost   Cost `json:"cost"`
}

// Notice is a sentence of wherry itself to the person, outside the model's words.
type Notice struct {
	Message string `json:"message"` // id, so that a client can group it
	Text    string `json:"text"`
	// Severity is "info", "warning" or "error".
	Severity string `json:"severity"`
}

// The kinds as they are stored.
const (
	KindCreated            Kind = "session.created"
	KindTitled             Kind = "session.titled"
	KindConfigured         Kind = "session.configured"
	KindRooted             Kind = "session.roots"
	KindTurnStarted        Kind = "turn.started"
	KindTurnEnded          Kind = "turn.ended"
	KindMessageDelta       Kind = "message.delta"
	KindMessageSaved       Kind = "message.saved"
	KindMessageDone        Kind = "message.done"
	KindCallRequested      Kind = "call.requested"
	KindCallPresented      Kind = "call.presented"
	KindCallStarted        Kind = "call.started"
	KindCallOutput         Kind = "call.output"
	KindCallDone           Kind = "call.done"
	KindPermissionAsked    Kind = "permission.asked"
	KindPermissionAnswered Kind = "permission.answered"
	KindCommandAllowed     Kind = "permission.allowed"
	KindForgotten          Kind = "permission.forgotten"
	KindQuestionAsked      Kind = "question.asked"
	KindQuestionAnswered   Kind = "question.answered"
	KindPlanChanged        Kind = "plan.changed"
	KindUsageRecorded      Kind = "usage.recorded"
	KindContextMeasured    Kind = "context.measured"
	KindNotice             Kind = "notice"
	KindAttached           Kind = "prompt.attached"
	KindCommandAnswered    Kind = "command.answered"
	KindCleared            Kind = "session.cleared"
	KindSteered            Kind = "turn.steered"
	KindCompactionStarted  Kind = "compaction.started"
	KindCompactionEnded    Kind = "compaction.ended"
	KindForked             Kind = "session.forked"
)

// Kind implements [Data].
func (Created) Kind() Kind { return KindCreated }

// Kind implements [Data].
func (Titled) Kind() Kind { return KindTitled }

// Kind implements [Data].
func (Configured) Kind() Kind { return KindConfigured }

// Kind implements [Data].
func (Rooted) Kind() Kind { return KindRooted }

// Kind implements [Data].
func (TurnStarted) Kind() Kind { return KindTurnStarted }

// Kind implements [Data].
func (TurnEnded) Kind() Kind { return KindTurnEnded }

// Kind implements [Data].
func (MessageDelta) Kind() Kind { return KindMessageDelta }

// Kind implements [Data].
func (MessageSaved) Kind() Kind { return KindMessageSaved }

// Kind implements [Data].
func (MessageDone) Kind() Kind { return KindMessageDone }

// Kind implements [Data].
func (CallRequested) Kind() Kind { return KindCallRequested }

// Kind implements [Data].
func (CallPresented) Kind() Kind { return KindCallPresented }

// Kind implements [Data].
func (CallStarted) Kind() Kind { return KindCallStarted }

// Kind implements [Data].
func (CallOutput) Kind() Kind { return KindCallOutput }

// Kind implements [Data].
func (CallDone) Kind() Kind { return KindCallDone }

// Kind implements [Data].
func (PermissionAsked) Kind() Kind { return KindPermissionAsked }

// Kind implements [Data].
func (PermissionAnswered) Kind() Kind { return KindPermissionAnswered }

// Kind implements [Data].
func (CommandAllowed) Kind() Kind { return KindCommandAllowed }

// Kind implements [Data].
func (Forgotten) Kind() Kind { return KindForgotten }

// Kind implements [Data].
func (QuestionAsked) Kind() Kind { return KindQuestionAsked }

// Kind implements [Data].
func (QuestionAnswered) Kind() Kind { return KindQuestionAnswered }

// Kind implements [Data].
func (PlanChanged) Kind() Kind { return KindPlanChanged }

// Kind implements [Data].
func (UsageRecorded) Kind() Kind { return KindUsageRecorded }

// Kind implements [Data].
func (ContextMeasured) Kind() Kind { return KindContextMeasured }

// Kind implements [Data].
func (Notice) Kind() Kind { return KindNotice }

// Kind implements [Data].
func (Attached) Kind() Kind { return KindAttached }

// Kind implements [Data].
func (CommandAnswered) Kind() Kind { return KindCommandAnswered }

// Kind implements [Data].
func (Cleared) Kind() Kind { return KindCleared }

// Kind implements [Data].
func (CompactionStarted) Kind() Kind { return KindCompactionStarted }

// Kind implements [Data].
func (CompactionEnded) Kind() Kind { return KindCompactionEnded }

// Kind implements [Data].
func (Steered) Kind() Kind { return KindSteered }
