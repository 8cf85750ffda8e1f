package approval

import "slices"

// Decide tells whether a call may run, is refused, or needs a person's word. It is pure: the same policy and subject give
// the same decision. It fails closed: a mode or a class that it does not know is refused.
//
//	class              off      plan     ask      edits    auto
//	read, note         allow    allow    allow    allow    allow
//	edit               refuse   refuse   ask      allow    allow
//	edit, stale        refuse   refuse   ask      ask      ask
//	execute, network   refuse   refuse   ask      ask      allow
//	server             refuse   refuse   ask      ask      ask
//	secret, protected  refuse   refuse   ask      ask      ask
//	widen, plan        refuse   ask      ask      ask      ask
//
// A tool of an MCP server among Tools is allowed where it would be asked; for another
// one [ScopeTool] is offered. A command among Commands is allowed in the modes ask and edits; for another one whose line is known [ScopeCommand] is offered.
//
// SessionEdits turns "edit" in mode ask into allow and nothing else. [ScopeSession] is offered where it would do that:
// for an edit in mode ask that is not stale, and for a plan after which the mode is ask.
func (p Policy) Decide(s Subject) Decision {
	d := p.decide(s)
	if p.OnceOnly && d.Verdict == Ask {
		d.Scopes = []Scope{ScopeOnce}
	}
	return d
}

func (p Policy) decide(s Subject) Decision {
	if !p.Mode.Valid() {
		return refuse("no valid mode is set: nothing is allowed")
	}
	switch s.Class {
	case ClassRead:
		return allow("reads inside the roots")
	case ClassNote:
		return allow("changes only the conversation")
	case ClassEdit, ClassExecute, ClassNetwork, ClassServer, ClassSecret, ClassProtected, ClassWiden, ClassPlan:
	default:
		return refuse("the call's kind of effect is not known: it is not allowed")
	}
	if p.Mode == ModeOff {
		return refuse(offReason(s.Class))
	}
	switch s.Class {
	case ClassWiden:
		return ask("a further folder: asked every time")
	case ClassPlan:
		if p.Mode == ModePlan && p.After == ModeAsk {
			return ask("a plan is approved by a person", ScopeSession)
		}
		return ask("a plan is approved by a person")
	}
	if p.Mode == ModePlan {
		return refuse("mode plan: nothing is written or run before the person has approved a plan")
	}
	switch s.Class {
	case ClassEdit:
		return p.decideEdit(s)
	case ClassServer:
		return p.decideTool(s, "a tool of an MCP server that is not trusted")
	case ClassSecret:
		return ask("a file that usually holds secrets: asked every time")
	case ClassProtected:
		return ask("a file that runs code or configures tools: asked every time")
	default: // execute, network
		if p.Mode == ModeAuto {
			return allow("mode auto")
		}
		if s.Class == ClassNetwork {
			return ask("mode " + string(p.Mode) + ": requests to other machines are asked")
		}
		return p.decideCommand(s)
	}
}

func (p Policy) decideCommand(s Subject) Decision {
	why := "mode " + string(p.Mode) + ": commands are asked"
	switch {
	case s.Server:
		return p.decideTool(s, why)
	case s.Command == Command{}:
		return ask(why)
	case slices.Contains(p.Commands, s.Command):
		return allow("exactly this command was allowed for this session")
	}
	return ask(why, ScopeCommand)
}

// decideTool is for what an MCP server does.
func (p Policy) decideTool(s Subject, why string) Decision {
	if !s.Server {
		return ask(why)
	}
	if slices.Contains(p.Tools, s.Tool) {
		return allow("every call of this tool was allowed")
	}
	return ask(why, ScopeTool)
}

func (p Policy) decideEdit(s Subject) Decision {
	switch {
	case s.Stale:
		return ask("the file changed since the model last saw it")
	case p.Mode == ModeEdits, p.Mode == ModeAuto:
		return allow("mode " + string(p.Mode))
	case p.SessionEdits:
		return allow("every edit of this session was allowed")
	default:
		return ask("mode ask: edits are asked", ScopeSession)
	}
}

func offReason(c Class) string {
	switch c {
	case ClassExecute:
		return "mode off: nothing is run"
	case ClassServer:
		return "mode off: no tool of an MCP server is called"
	case ClassNetwork:
		return "mode off: no other machine is reached"
	case ClassSecret:
		return "mode off: files that usually hold secrets are not touched"
	case ClassWiden:
		return "mode off: the session keeps to its folders"
	case ClassPlan:
		return "mode off: no work is begun"
	default:
		return "mode off: nothing is written"
	}
}

func allow(reason string) Decision  { return Decision{Verdict: Allow, Reason: reason} }
func refuse(reason string) Decision { return Decision{Verdict: Refuse, Reason: reason} }

// ask puts the question with [ScopeOnce] and the further scopes.
func ask(reason string, more ...Scope) Decision {
	return Decision{Verdict: Ask, Reason: reason, Scopes: append([]Scope{ScopeOnce}, more...)}
}
