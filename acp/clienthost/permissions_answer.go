package clienthost

import (
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// How says how a permission request was decided.
type How string

// The ways to a decision.
const (
	HowAsked      How = "asked"       // a listener answered
	HowRemembered How = "remembered"  // by an earlier "always"
	HowPolicy     How = "policy"      // by the policy
	HowTimedOut   How = "timed_out"   // no answer in time: refused
	HowNobody     How = "no_listener" // nobody to ask, or nobody any more: refused
	HowFailed     How = "failed"      // no listener could ask: refused
	HowCancelled  How = "cancelled"   // the turn was cancelled, or the connection has ended
)

// A PermissionRecord is what the audit is told of a decision. It names what was asked by
// ids and a digest: titles, inputs and contents may hold secrets and are not in it.
type PermissionRecord struct {
	Time       time.Time     // of the request
	Waited     time.Duration // until the decision
	SessionID  acp.SessionID
	ToolCallID acp.ToolCallID
	ToolName   string       // as the request has it, mostly empty
	ToolKind   acp.ToolKind // as the request has it
	// Digest is the same for the same thing asked in the same session, see
	// [Remembered]; empty if the request does not show what it is.
	Digest   string
	Decision Decision
	// Sent is the kind of the option that was sent, empty for the outcome "cancelled".
	Sent acp.PermissionOptionKind
	How  How
	By   string // the listener that answered
	Err  error  // why listeners could not ask
}

// outcomeOf finds the offered option that an answer means, and returns its kind: empty if
// there is none.
func outcomeOf(options []acp.PermissionOption, a Answer) (acp.RequestPermissionOutcome, acp.PermissionOptionKind) {
	var kinds []acp.PermissionOptionKind
	switch a.Decision {
	case AllowOnce:
		kinds = []acp.PermissionOptionKind{acp.PermissionAllowOnce}
	case AllowAlways:
		kinds = []acp.PermissionOptionKind{acp.PermissionAllowAlways, acp.PermissionAllowOnce}
	case RejectAlways:
		kinds = []acp.PermissionOptionKind{acp.PermissionRejectAlways, acp.PermissionRejectOnce}
	case Cancel:
	default:
		kinds = []acp.PermissionOptionKind{acp.PermissionRejectOnce, acp.PermissionRejectAlways}
	}
	for i, kind := range kinds {
		found := false
		var id acp.PermissionOptionID
		for _, o := range options {
			if o.Kind != kind || ambiguous(options, o) {
				continue
			}
			if chosen := i == 0 && a.Option != "" && o.OptionID == a.Option; chosen || !found {
				found, id = true, o.OptionID
			}
		}
		if found {
			return acp.SelectedPermissionOutcome{OptionID: id}, kind
		}
	}
	return acp.CancelledPermissionOutcome{}, ""
}

// ambiguous reports whether the option's id is also that of an option of another kind.
func ambiguous(options []acp.PermissionOption, o acp.PermissionOption) bool {
	for _, other := range options {
		if other.OptionID == o.OptionID && other.Kind != o.Kind {
			return true
		}
	}
	return false
}

// A Policy decides permission requests that nobody need be asked about. It is called
// concurrently. When decided is false the request goes on to the listeners.
//
// Names, kinds and titles are the agent's word: a policy that allows trusts the agent to
// say truly what it does.
type Policy func(req acp.RequestPermissionRequest) (d Decision, decided bool)

// RejectAll is a Policy that refuses everything.
func RejectAll(acp.RequestPermissionRequest) (Decision, bool) { return RejectOnce, true }

// AllowAll is a Policy that allows everything, once each time if that is offered.
func AllowAll(req acp.RequestPermissionRequest) (Decision, bool) {
	for _, o := range req.Options {
		if o.Kind == acp.PermissionAllowOnce {
			return AllowOnce, true
		}
	}
	return AllowAlways, true
}

// AllowReads is a Policy that allows, once each time, the tool calls that are said to
// change nothing: those of kind read, search or think. Everything else is asked about;
// without a listener it is refused. A fetch is asked about, since it can carry something
// out, and so is a request that does not name its kind.
func AllowReads(req acp.RequestPermissionRequest) (Decision, bool) {
	switch req.ToolCall.Kind {
	case acp.ToolKindRead, acp.ToolKindSearch, acp.ToolKindThink:
		return AllowOnce, true
	}
	return RejectOnce, false
}
