package acp

import "fmt"

// offer returns the capabilities that follow from what the agent implements.
func offer(agent Agent, unstable bool) AgentCapabilities {
	var c AgentCapabilities
	_, c.LoadSession = agent.(SessionLoader)
	s := &c.SessionCapabilities
	s.List = given[SessionLister, SessionListCapabilities](agent)
	s.Delete = given[SessionDeleter, SessionDeleteCapabilities](agent)
	s.Resume = given[SessionResumer, SessionResumeCapabilities](agent)
	s.Close = given[SessionCloser, SessionCloseCapabilities](agent)
	c.Auth.Logout = given[LogoutHandler, LogoutCapabilities](agent)
	if unstable {
		s.UnstableFork = given[UnstableSessionForker, UnstableSessionForkCapabilities](agent)
		if s.List != nil {
			s.UnstableArchive = given[UnstableSessionArchiver, UnstableSessionArchiveCapabilities](agent)
		}
		s.UnstableStatus = given[UnstableSessionStatusReporter, UnstableSessionStatusCapabilities](agent)
		s.UnstableTitle = given[UnstableSessionTitleSetter, UnstableSessionTitleCapabilities](agent)
		c.Auth.UnstableStatus = given[UnstableAuthStatusReporter, UnstableAuthStatusCapabilities](agent)
		c.UnstableProviders = given[UnstableProviderManager, UnstableProvidersCapabilities](agent)
	}
	return c
}

// given returns a new C if v implements I.
func given[I, C any](v any) *C {
	if _, ok := v.(I); ok {
		return new(C)
	}
	return nil
}

// checkOffer refuses capabilities whose methods the agent does not implement.
func checkOffer(agent Agent, caps *AgentCapabilities, authMethods []AuthMethod, unstable bool) error {
	for _, r := range agentRoutes() {
		m, ok := LookupMethod(r.name, false)
		if !ok || m.Gate == "" || !HasCapability(m.Gate, nil, caps) {
			continue
		}
		if m.Unstable && !unstable {
			return fmt.Errorf("%s is advertised, but it is unstable and Options.Unstable is off", m.Gate)
		}
		if !r.can(agent) {
			return fmt.Errorf("%s is advertised, but %T does not implement %s", m.Gate, agent, m.Name)
		}
	}
	for _, m := range authMethods {
		if _, terminal := m.(AuthMethodTerminal); terminal {
			continue
		}
		if _, ok := agent.(Authenticator); !ok {
			return fmt.Errorf("an auth method is advertised, but %T does not implement %s", agent, MethodAuthenticate)
		}
	}
	return nil
}
