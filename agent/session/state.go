package session

import (
	"maps"
	"slices"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/tool"
)

// State is what a session's events add up to, apart from its messages. The zero value is a session without events. A
// copy is a snapshot: later events applied to either do not show in the other, as long as nobody writes to its slices
// and map. One value is not safe for concurrent use.
type State struct {
	Session string
	Seq     int64  // number of the newest stored event applied
	Parent  string // the session it was forked from; empty for none

	Roots    []string // absolute; the first is the working folder
	Title    string
	TitledBy string // "prompt", "model" or "person"
	Mode     approval.Mode
	Before   approval.Mode // the one to go back to once a plan is approved; empty unless Mode is [approval.ModePlan] and it is known
	Model    string        // provider/name
	// Options are further choices, by name. Those never made are not there.
	Options map[string]string
	// Edits says that the person allowed every edit of this session. Choosing a mode takes it back.
	Edits bool
	// Commands are those that the person allowed for this session.
	Commands []approval.Command

	Plan []tool.PlanEntry
	// Views are the files the model has seen, by absolute path, with the newest version seen.
	Views map[string]host.Version
	// Diverged are the files of [tool.Result].Diverged that have not been written or seen as they are on the disk since.
	Diverged map[string]string

	// Usage is that of the newest request of the conversation. After a compaction it is an estimate.
	Usage     UsageRecorded
	TurnUsage model.Usage // of all requests of the open or, between turns, the newest turn
	TurnCost  Cost        // of the same
	Spent     model.Usage // of all requests of the session
	Cost      Cost        // of the same

	Compaction string // id of the one that has started and not ended; empty else

	Turns    int        // prompts that a model got
	Turn     string     // id of the turn that has started and not ended; empty between turns
	Calls    []OpenCall // requested and not done, in the order of their requests
	LastCall int        // highest number given by CallID so far
}

// OpenCall is a call that has no [CallDone] yet.
type OpenCall struct {
	Call    string
	Tool    string
	Started bool // it was allowed and may have had an effect
}

// Apply adds one event, live ones included. Events must come in order.
func (s *State) Apply(e Event) {
	if e.Seq != 0 {
		s.Session, s.Seq = e.Session, e.Seq
	}
	switch d := e.Data.(type) {
	case Created:
		s.Roots, s.Mode, s.Model = slices.Clone(d.Roots), d.Mode, d.Model
		s.Options = mergeOptions(nil, d.Options)
	case Titled:
		if s.TitledBy != byPerson || d.By == byPerson {
			s.Title, s.TitledBy = d.Title, d.By
		}
	case Configured:
		if d.Mode != "" {
			s.Mode, s.Before, s.Edits = d.Mode, d.Before, false
		}
		if d.Model != "" {
			s.Model = d.Model
		}
		s.Options = mergeOptions(s.Options, d.Options)
		s.Edits = s.Edits || d.Edits
	case Rooted:
		s.Roots = slices.Clone(d.Roots)
	case Forked:
		s.Parent, s.Edits, s.Commands = d.Parent, false, nil
	case TurnStarted:
		s.Turn, s.TurnUsage, s.TurnCost = d.Turn, model.Usage{}, Cost{}
		if d.Command == "" || d.Sent != nil {
			s.Turns++
		}
	case Cleared:
		s.Views, s.Plan, s.Usage = nil, nil, UsageRecorded{Window: s.Usage.Window}
	case Attached:
		s.see(d.Views)
	case CompactionStarted:
		s.Compaction = d.ID
	case CompactionEnded:
		s.Compaction = ""
		if d.Status == CompactionCompleted {
			s.Usage = UsageRecorded{Usage: model.Usage{Input: d.Tokens}, Window: d.Window}
		}
	case TurnEnded:
		s.Turn = ""
	case CallRequested:
		s.Calls = append(slices.Clip(s.Calls), OpenCall{Call: d.Call, Tool: d.Tool})
		s.LastCall = max(s.LastCall, callNumber(d.Call))
	case CallStarted:
		s.started(d.Call)
	case CallDone:
		s.done(d)
	case CommandAllowed:
		if !slices.Contains(s.Commands, d.Command) {
			s.Commands = append(slices.Clip(s.Commands), d.Command)
		}
	case Forgotten:
		s.Edits = s.Edits && !d.Edits
		s.Commands = slices.DeleteFunc(slices.Clone(s.Commands), func(c approval.Command) bool { return slices.Contains(d.Commands, c) })
	case PlanChanged:
		s.Plan = slices.Clone(d.Entries)
	case UsageRecorded:
		s.used(d)
	case Unknown:
		s.unknown(d)
	}
}

const byPerson = "person"

// mergeOptions gives a new map with changes made: the old one may be in a snapshot.
func mergeOptions(options, changes map[string]string) map[string]string {
	if len(changes) == 0 {
		return options
	}
	merged := maps.Clone(options)
	if merged == nil {
		merged = make(map[string]string)
	}
	for name, value := range changes {
		if value == "" {
			delete(merged, name)
		} else {
			merged[name] = value
		}
	}
	return merged
}

func (s *State) started(call string) {
	calls := slices.Clone(s.Calls)
	for i := range calls {
		if calls[i].Call == call {
			calls[i].Started = true
		}
	}
	s.Calls = calls
}

func (s *State) done(d CallDone) {
	var open []OpenCall
	for _, c := range s.Calls {
		if c.Call != d.Call {
			open = append(open, c)
		}
	}
	s.Calls = open
	s.see(d.Result.Views)
	if len(d.Result.Diverged) == 0 && (len(s.Diverged) == 0 || len(d.Result.Views)+len(d.Result.Changed) == 0) {
		return
	}
	diverged := maps.Clone(s.Diverged)
	if diverged == nil {
		diverged = make(map[string]string)
	}
	for _, path := range d.Result.Changed {
		delete(diverged, path)
	}
	for path, view := range d.Result.Views {
		if view.Version.Digest == diverged[path] {
			delete(diverged, path)
		}
	}
	maps.Copy(diverged, d.Result.Diverged)
	s.Diverged = diverged
}

// see notes which files the model has seen now.
func (s *State) see(seen map[string]tool.View) {
	if len(seen) == 0 {
		return
	}
	views := maps.Clone(s.Views)
	if views == nil {
		views = make(map[string]host.Version)
	}
	for path, view := range seen {
		views[path] = view.Version
	}
	s.Views = views
}

// unknown fails closed: a newer program set something that this one cannot read, which may have been stricter.
func (s *State) unknown(d Unknown) {
	if d.Name == KindConfigured || d.Name == KindForgotten {
		s.Edits, s.Commands = false, nil
	}
	if d.Name == KindConfigured {
		if s.Mode != approval.ModeOff && s.Mode != approval.ModePlan {
			s.Mode = approval.ModeAsk
		}
	}
}

// Interrupted gives the events that close what a dead process left open: an end for each open call, then one for the
// turn. It runs nothing. It is empty when nothing is open.
func Interrupted(s State) []Data {
	var closing []Data
	for _, c := range s.Calls {
		closing = append(closing, CallDone{Call: c.Call, Status: CallInterrupted, Result: tool.Failure(interruptedText(c.Started))})
	}
	if s.Compaction != "" {
		closing = append(closing, CompactionEnded{ID: s.Compaction, Status: CompactionCancelled})
	}
	if s.Turn != "" {
		closing = append(closing, TurnEnded{Turn: s.Turn, Reason: StopInterrupted, Usage: s.TurnUsage})
	}
	return closing
}

func interruptedText(started bool) string {
	if started {
		return "This call was running when the program ended. Whether it took effect is not known: look before doing it again."
	}
	return "This call was not run: the program ended before it started."
}
