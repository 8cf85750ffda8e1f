package agent

import (
	"context"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// Face is the client of a session: it shows what happens, answers questions, and lends its files and terminals. The
// methods are called from several goroutines, Show never concurrently for one session.
type Face interface {
	// Name tells who it is, for the record of who approved what.
	Name() string
	// Host gives what the agent may touch below these folders.
	Host(roots []string) (host.Host, error)
	// Rewind says that what is shown from now on is the conversation from its beginning.
	Rewind()
	// Show shows an event. live tells that it happens now, in a turn that this face itself asked for; otherwise it
	// is replayed. Show may block while the client is slow, until ctx ends. Its error is not an event's fate: the
	// turn ends by ctx, not by a failure to show.
	Show(ctx context.Context, event session.Event, live bool) error
	// Configured tells what the person can choose in the session, with the values as they are now, after one of them
	// has changed.
	Configured(ctx context.Context, settings []Setting) error
	// Commands tells which commands the session has now, after they have changed.
	Commands(ctx context.Context, commands []Command) error
	// Ask puts a question to the person and waits for the answer. An error means that nobody could be asked.
	Ask(ctx context.Context, question Question) (Answer, error)
	// Inquire asks the person what the model wants to know and waits for the answers: as many replies as there are
	// questions, or the outcome that says why there are none. Where it can only be asked in the conversation the outcome is
	// [tool.Put], and the next prompt is the answer. An error means that nobody could be asked.
	Inquire(ctx context.Context, inquiry Inquiry) (tool.Answers, error)
}

// Question asks whether a call may run, exactly as presented.
type Question struct {
	Session      string
	Call         string
	Tool         string
	Presentation tool.Presentation
	Reason       string           // why it is asked
	Scopes       []approval.Scope // what may be chosen
}

// Answer is what the person chose. The zero value is a plain no.
type Answer struct {
	Allowed   bool
	Scope     approval.Scope // of an approval; empty means once
	Reason    string         // the person's note
	Cancelled bool           // the question was dismissed: the call is refused and the turn ends
	Nobody    bool           // no person was there to answer; Reason says why
}
