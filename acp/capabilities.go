package acp

import "errors"

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
	return errors.Join(offerProblems(agent, caps, authMethods, unstable)...)
}
