package acp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A CheckProblem is one thing that Check has found.
type CheckProblem struct {
	Method     string // the Go method that it is about; empty if it is about none
	Capability string // the path of the capability, or the option, that it is about
	Text       string // what is wrong and what to do
}

// Error returns Text.
func (p *CheckProblem) Error() string { return p.Text }

// Check reports everything that is wrong with an agent and its options, for the agent's
// tests: what Serve would refuse (a capability that nothing implements, a method with the
// name of an optional one but another signature, an extension whose name does not begin
// with "_"), and what Serve lets pass although no client can use it as it is (a method that
// the options hide, an Authenticator without auth methods, sessions that can be loaded but
// not found). The result joins a *CheckProblem for each; it is nil if there is none. opts
// may be nil. What an Initializer changes in the handshake is not seen.
func Check(agent Agent, opts *AgentOptions) error {
	if agent == nil {
		return &CheckProblem{Text: "there is no agent: it is nil"}
	}
	if opts == nil {
		opts = &AgentOptions{}
	}
	caps := offer(agent, opts.Unstable)
	if opts.Capabilities != nil {
		opts.Capabilities(&caps)
	}
	var all []error
	all = append(all, signatureProblems(agent)...)
	all = append(all, nameProblems(agent)...)
	all = append(all, offerProblems(agent, &caps, opts.AuthMethods, opts.Unstable)...)
	all = append(all, hiddenProblems(agent, &caps, opts.Unstable)...)
	all = append(all, authProblems(agent, opts.AuthMethods)...)
	all = append(all, sessionProblems(agent)...)
	all = append(all, extensionProblems(opts.Extensions)...)
	if i := opts.Info; i != nil && (i.Name == "" || i.Version == "") {
		all = append(all, &CheckProblem{Capability: "AgentOptions.Info", Text: "AgentOptions.Info has no name or no version: clients show both"})
	}
	return errors.Join(all...)
}

// optionalMethod is a method that an agent may have, and what a type has under its name.
type optionalMethod struct {
	wire, name string
	want       reflect.Type // its signature
	got        reflect.Type // as a type has it, without the receiver; nil if it does not
}

// optionalMethods looks t's methods up. The names are constants where they are looked up,
// so that the linker can still leave out every other method.
func optionalMethods(t reflect.Type) []optionalMethod {
	with := func(wire, name string, want reflect.Type) func(reflect.Method, bool) optionalMethod {
		return func(m reflect.Method, found bool) optionalMethod {
			o := optionalMethod{wire: wire, name: name, want: want}
			if found {
				o.got = withoutReceiver(m.Type)
			}
			return o
		}
	}
	return []optionalMethod{
		with(MethodInitialize, "Initialize", reflect.TypeFor[func(context.Context, InitializeRequest, *InitializeResponse) error]())(t.MethodByName("Initialize")),
		with(MethodAuthenticate, "Authenticate", handlerType[AuthenticateRequest, AuthenticateResponse]())(t.MethodByName("Authenticate")),
		with(MethodLogout, "Logout", handlerType[LogoutRequest, LogoutResponse]())(t.MethodByName("Logout")),
		with(MethodSessionLoad, "LoadSession", handlerType[LoadSessionRequest, LoadSessionResponse]())(t.MethodByName("LoadSession")),
		with(MethodSessionResume, "ResumeSession", handlerType[ResumeSessionRequest, ResumeSessionResponse]())(t.MethodByName("ResumeSession")),
		with(MethodSessionList, "ListSessions", handlerType[ListSessionsRequest, ListSessionsResponse]())(t.MethodByName("ListSessions")),
		with(MethodSessionClose, "CloseSession", handlerType[CloseSessionRequest, CloseSessionResponse]())(t.MethodByName("CloseSession")),
		with(MethodSessionDelete, "DeleteSession", handlerType[DeleteSessionRequest, DeleteSessionResponse]())(t.MethodByName("DeleteSession")),
		with(MethodSessionSetMode, "SetSessionMode", handlerType[SetSessionModeRequest, SetSessionModeResponse]())(t.MethodByName("SetSessionMode")),
		with(MethodSessionSetConfigOption, "SetSessionConfigOption", handlerType[SetSessionConfigOptionRequest, SetSessionConfigOptionResponse]())(t.MethodByName("SetSessionConfigOption")),
		with(MethodSessionCancel, "CancelSession", reflect.TypeFor[func(context.Context, CancelNotification)]())(t.MethodByName("CancelSession")),
		with(MethodUnstableSessionFork, "UnstableForkSession", handlerType[UnstableForkSessionRequest, UnstableForkSessionResponse]())(t.MethodByName("UnstableForkSession")),
		with(MethodUnstableSessionArchive, "UnstableArchiveSession", handlerType[UnstableArchiveSessionRequest, UnstableArchiveSessionResponse]())(t.MethodByName("UnstableArchiveSession")),
		with(MethodUnstableSessionUnarchive, "UnstableUnarchiveSession", handlerType[UnstableUnarchiveSessionRequest, UnstableUnarchiveSessionResponse]())(t.MethodByName("UnstableUnarchiveSession")),
		with(MethodUnstableSessionStatus, "UnstableSessionStatus", handlerType[UnstableSessionStatusRequest, UnstableSessionStatusResponse]())(t.MethodByName("UnstableSessionStatus")),
		with(MethodUnstableSessionSetTitle, "UnstableSetSessionTitle", handlerType[UnstableSetSessionTitleRequest, UnstableSetSessionTitleResponse]())(t.MethodByName("UnstableSetSessionTitle")),
		with(MethodUnstableAuthStatus, "UnstableAuthStatus", handlerType[UnstableAuthStatusRequest, UnstableAuthStatusResponse]())(t.MethodByName("UnstableAuthStatus")),
		with(MethodUnstableProvidersList, "UnstableListProviders", handlerType[UnstableListProvidersRequest, UnstableListProvidersResponse]())(t.MethodByName("UnstableListProviders")),
		with(MethodUnstableProvidersSet, "UnstableSetProvider", handlerType[UnstableSetProviderRequest, UnstableSetProviderResponse]())(t.MethodByName("UnstableSetProvider")),
		with(MethodUnstableProvidersDisable, "UnstableDisableProvider", handlerType[UnstableDisableProviderRequest, UnstableDisableProviderResponse]())(t.MethodByName("UnstableDisableProvider")),
		with(MethodUnstableMCPMessage, "UnstableMCPNotification", reflect.TypeFor[func(context.Context, UnstableMessageMCPNotification)]())(t.MethodByName("UnstableMCPNotification")),
	}
}

func handlerType[Q, R any]() reflect.Type {
	return reflect.TypeFor[func(context.Context, Q) (R, error)]()
}

func withoutReceiver(method reflect.Type) reflect.Type {
	var in, out []reflect.Type
	for i := 1; i < method.NumIn(); i++ {
		in = append(in, method.In(i))
	}
	for i := range method.NumOut() {
		out = append(out, method.Out(i))
	}
	return reflect.FuncOf(in, out, method.IsVariadic())
}

// capabilityOf returns what a client looks at before it calls the method.
func capabilityOf(wire string) string {
	if m, ok := LookupMethod(wire, false); ok && m.Gate != "" {
		return m.Gate
	}
	return wire
}

// goMethod returns the Go method that handles a method of the protocol.
func goMethod(wire string) string {
	for _, m := range optionalMethods(reflect.TypeFor[struct{}]()) {
		if m.wire == wire {
			return m.name
		}
	}
	return ""
}

// signatureProblems finds the methods that were meant to implement an optional one and do
// not: clients would be told that it is not implemented.
func signatureProblems(agent Agent) []error {
	t := reflect.TypeOf(agent)
	var all []error
	byPointer := optionalMethods(reflect.PointerTo(t))
	for i, m := range optionalMethods(t) {
		capability := capabilityOf(m.wire)
		switch {
		case m.got == m.want:
		case m.got != nil:
			all = append(all, &CheckProblem{Method: m.name, Capability: capability, Text: fmt.Sprintf(
				"%v has the method %s, but with the signature %v; for %s (%s) it must be %v: correct it, or rename the method if it is meant for something else",
				t, m.name, m.got, m.wire, capability, m.want)})
		case byPointer[i].got == m.want:
			all = append(all, &CheckProblem{Method: m.name, Capability: capability, Text: fmt.Sprintf(
				"%v implements %s (%s) with a pointer receiver, but what is served is no pointer, so that %s is not offered: serve a pointer to it",
				t, m.name, capability, m.wire)})
		}
	}
	return all
}

// nameProblems finds methods that take the params of an optional method that the agent
// does not have: those have another name.
func nameProblems(agent Agent) []error {
	t := reflect.TypeOf(agent)
	var all []error
	known := optionalMethods(t)
	for m := range t.Methods() {
		if slices.ContainsFunc(known, func(o optionalMethod) bool { return o.name == m.Name }) {
			continue
		}
		for _, o := range known {
			if o.got == nil && withoutReceiver(m.Type) == o.want {
				all = append(all, &CheckProblem{Method: o.name, Capability: capabilityOf(o.wire), Text: fmt.Sprintf(
					"%v has the method %s, which looks like the one for %s (%s), but that must be named %s",
					t, m.Name, o.wire, capabilityOf(o.wire), o.name)})
			}
		}
	}
	return all
}

// offerProblems finds what is advertised and not implemented.
func offerProblems(agent Agent, caps *AgentCapabilities, authMethods []AuthMethod, unstable bool) []error {
	var all []error
	for _, r := range agentRoutes() {
		m, ok := LookupMethod(r.name, false)
		if !ok || m.Gate == "" || !HasCapability(m.Gate, nil, caps) {
			continue
		}
		p := &CheckProblem{Method: goMethod(r.name), Capability: m.Gate}
		switch {
		case m.Unstable && !unstable:
			p.Text = fmt.Sprintf("%s is advertised, but it is unstable and Options.Unstable is off", m.Gate)
		case !r.can(agent):
			p.Text = fmt.Sprintf("%s is advertised, but %T does not implement %s (%s)", m.Gate, agent, m.Name, p.Method)
		default:
			continue
		}
		all = append(all, p)
	}
	if _, ok := agent.(Authenticator); ok {
		return all
	}
	for _, m := range authMethods {
		if _, terminal := m.(AuthMethodTerminal); !terminal {
			all = append(all, &CheckProblem{Method: "Authenticate", Capability: "authMethods", Text: fmt.Sprintf(
				"the auth method %q is advertised, but %T does not implement %s (Authenticate)", authMethodID(m), agent, MethodAuthenticate)})
		}
	}
	return all
}

// hiddenProblems finds what is implemented and not advertised.
func hiddenProblems(agent Agent, caps *AgentCapabilities, unstable bool) []error {
	var all []error
	for _, r := range agentRoutes() {
		m, ok := LookupMethod(r.name, false)
		if !ok || !r.can(agent) {
			continue
		}
		p := &CheckProblem{Method: goMethod(r.name), Capability: capabilityOf(r.name)}
		switch {
		case m.Unstable && !unstable:
			p.Text = fmt.Sprintf("%T implements %s, but %s is unstable and Options.Unstable is off: clients cannot call it", agent, p.Method, m.Name)
		case m.Gate != "" && !HasCapability(m.Gate, nil, caps):
			p.Text = fmt.Sprintf("%T implements %s, but %s is not advertised, so that clients cannot call %s: see AgentOptions.Capabilities", agent, p.Method, m.Gate, m.Name)
			if m.Name == MethodUnstableSessionArchive || m.Name == MethodUnstableSessionUnarchive {
				p.Text += "; it also needs ListSessions"
			}
		default:
			continue
		}
		all = append(all, p)
	}
	return all
}

func authMethodID(m AuthMethod) AuthMethodID {
	switch m := m.(type) {
	case AuthMethodAgent:
		return m.ID
	case AuthMethodTerminal:
		return m.ID
	}
	return ""
}

// authProblems finds auth methods that cannot be told apart, and handlers without any.
func authProblems(agent Agent, methods []AuthMethod) []error {
	var all []error
	seen := make(map[AuthMethodID]bool)
	for _, m := range methods {
		id := authMethodID(m)
		switch {
		case id == "":
			all = append(all, &CheckProblem{Method: "Authenticate", Capability: "authMethods", Text: fmt.Sprintf("an auth method (%T) has no id", m)})
		case seen[id]:
			all = append(all, &CheckProblem{Method: "Authenticate", Capability: "authMethods", Text: fmt.Sprintf("two auth methods have the id %q", id)})
		}
		seen[id] = true
	}
	_, authenticates := agent.(Authenticator)
	if _, later := agent.(Initializer); authenticates && len(methods) == 0 && !later {
		all = append(all, &CheckProblem{Method: "Authenticate", Capability: "authMethods", Text: fmt.Sprintf(
			"%T implements Authenticate, but AgentOptions.AuthMethods (authMethods) is empty, so that clients have nothing to authenticate with", agent)})
	}
	return all
}

// sessionProblems finds capabilities that are of use only together.
func sessionProblems(agent Agent) []error {
	_, loads := agent.(SessionLoader)
	_, resumes := agent.(SessionResumer)
	_, lists := agent.(SessionLister)
	_, deletes := agent.(SessionDeleter)
	var all []error
	add := func(method, capability, text string) {
		all = append(all, &CheckProblem{Method: method, Capability: capability, Text: fmt.Sprintf("%T implements %s", agent, text)})
	}
	const list = "agentCapabilities.sessionCapabilities.list"
	switch {
	case loads && !lists:
		add("LoadSession", list, "LoadSession, but not ListSessions ("+list+"): clients find no session to load except those whose ids they have kept")
	case resumes && !lists:
		add("ResumeSession", list, "ResumeSession, but not ListSessions ("+list+"): clients find no session to resume except those whose ids they have kept")
	}
	if lists && !loads && !resumes {
		add("ListSessions", "agentCapabilities.loadSession", "ListSessions, but neither LoadSession (agentCapabilities.loadSession) nor ResumeSession: what is listed cannot be opened")
	}
	if deletes && !lists {
		add("DeleteSession", list, "DeleteSession, but not ListSessions ("+list+"): clients find no session to delete")
	}
	return all
}

// extensionProblems finds extension methods that can never be called.
func extensionProblems(extensions map[string]Extension) []error {
	var all []error
	for name, x := range extensions {
		if !strings.HasPrefix(name, "_") {
			all = append(all, &CheckProblem{Capability: "AgentOptions.Extensions", Text: fmt.Sprintf("extension %q: the name of an extension method begins with \"_\"", name)})
		}
		if x.request == nil && x.notification == nil {
			all = append(all, &CheckProblem{Capability: "AgentOptions.Extensions", Text: fmt.Sprintf("extension %q has no handler: make it with ExtensionRequest or ExtensionNotification", name)})
		}
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return all
}
