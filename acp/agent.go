package acp

import "context"

// An Agent is what ACP clients talk to. These two methods are all it must have; each
// further method of the protocol is an interface below, and is advertised to the client
// exactly if the value that is served implements it.
//
// Handlers run concurrently, in their own goroutines. Their context carries the client
// ([ClientFrom]) and ends when the request is cancelled (cause [ErrRequestCancelled]), when
// the session is (cause [ErrSessionCancelled], prompts only), or when the connection ends
// (cause matches [ErrConnectionClosed]).
type Agent interface {
	// NewSession starts a session (session/new). Updates of the new session that are
	// sent before the answer are held back until it is written.
	NewSession(ctx context.Context, req NewSessionRequest) (NewSessionResponse, error)

	// Prompt runs a turn (session/prompt) and returns why it ended. Everything that it
	// sends is written before its answer. After session/cancel an error is answered as
	// stop reason "cancelled". Prompts of one session are handled one after the other, see
	// AllowNextPrompt.
	Prompt(ctx context.Context, req PromptRequest) (PromptResponse, error)
}

// An Initializer wants to see the handshake. resp is what will be answered; it may be
// changed, but not to advertise what is not implemented.
type Initializer interface {
	Initialize(ctx context.Context, req InitializeRequest, resp *InitializeResponse) error
}

// An Authenticator handles authenticate.
type Authenticator interface {
	Authenticate(ctx context.Context, req AuthenticateRequest) (AuthenticateResponse, error)
}

// A LogoutHandler handles logout.
type LogoutHandler interface {
	Logout(ctx context.Context, req LogoutRequest) (LogoutResponse, error)
}

// A SessionLoader handles session/load: it replays the conversation as updates before it
// returns.
type SessionLoader interface {
	LoadSession(ctx context.Context, req LoadSessionRequest) (LoadSessionResponse, error)
}

// A SessionResumer handles session/resume: as loading, without the replay.
type SessionResumer interface {
	ResumeSession(ctx context.Context, req ResumeSessionRequest) (ResumeSessionResponse, error)
}

// A SessionLister handles session/list.
type SessionLister interface {
	ListSessions(ctx context.Context, req ListSessionsRequest) (ListSessionsResponse, error)
}

// A SessionCloser handles session/close. Prompts of the session have been cancelled when
// it is called.
type SessionCloser interface {
	CloseSession(ctx context.Context, req CloseSessionRequest) (CloseSessionResponse, error)
}

// A SessionDeleter handles session/delete.
type SessionDeleter interface {
	DeleteSession(ctx context.Context, req DeleteSessionRequest) (DeleteSessionResponse, error)
}

// A ModeSetter handles session/set_mode.
type ModeSetter interface {
	SetSessionMode(ctx context.Context, req SetSessionModeRequest) (SetSessionModeResponse, error)
}

// A ConfigOptionSetter handles session/set_config_option.
type ConfigOptionSetter interface {
	SetSessionConfigOption(ctx context.Context, req SetSessionConfigOptionRequest) (SetSessionConfigOptionResponse, error)
}

// A SessionCanceller wants to know of session/cancel. The contexts of the session's
// prompts have ended already when it is called.
type SessionCanceller interface {
	CancelSession(ctx context.Context, n CancelNotification)
}

// An UnstableSessionForker handles session/fork.
type UnstableSessionForker interface {
	UnstableForkSession(ctx context.Context, req UnstableForkSessionRequest) (UnstableForkSessionResponse, error)
}

// An UnstableSessionArchiver handles session/archive and session/unarchive.
type UnstableSessionArchiver interface {
	UnstableArchiveSession(ctx context.Context, req UnstableArchiveSessionRequest) (UnstableArchiveSessionResponse, error)
	UnstableUnarchiveSession(ctx context.Context, req UnstableUnarchiveSessionRequest) (UnstableUnarchiveSessionResponse, error)
}

// An UnstableSessionStatusReporter handles session/status.
type UnstableSessionStatusReporter interface {
	UnstableSessionStatus(ctx context.Context, req UnstableSessionStatusRequest) (UnstableSessionStatusResponse, error)
}

// An UnstableSessionTitleSetter handles session/set_title.
type UnstableSessionTitleSetter interface {
	UnstableSetSessionTitle(ctx context.Context, req UnstableSetSessionTitleRequest) (UnstableSetSessionTitleResponse, error)
}

// An UnstableAuthStatusReporter handles auth/status.
type UnstableAuthStatusReporter interface {
	UnstableAuthStatus(ctx context.Context, req UnstableAuthStatusRequest) (UnstableAuthStatusResponse, error)
}

// An UnstableProviderManager handles providers/list, providers/set and providers/disable.
type UnstableProviderManager interface {
	UnstableListProviders(ctx context.Context, req UnstableListProvidersRequest) (UnstableListProvidersResponse, error)
	UnstableSetProvider(ctx context.Context, req UnstableSetProviderRequest) (UnstableSetProviderResponse, error)
	UnstableDisableProvider(ctx context.Context, req UnstableDisableProviderRequest) (UnstableDisableProviderResponse, error)
}

// An UnstableMCPReceiver handles mcp/message notifications from servers that the client
// hosts.
type UnstableMCPReceiver interface {
	UnstableMCPNotification(ctx context.Context, n UnstableMessageMCPNotification)
}

// agentRoutes returns every method that an agent may handle, initialize excepted.
func agentRoutes() []route[Agent] {
	return []route[Agent]{
		handled[Agent](MethodSessionNew, Agent.NewSession),
		handled[Agent](MethodSessionPrompt, Agent.Prompt),
		handled[Agent](MethodAuthenticate, Authenticator.Authenticate),
		handled[Agent](MethodLogout, LogoutHandler.Logout),
		handled[Agent](MethodSessionLoad, SessionLoader.LoadSession),
		handled[Agent](MethodSessionResume, SessionResumer.ResumeSession),
		handled[Agent](MethodSessionList, SessionLister.ListSessions),
		handled[Agent](MethodSessionClose, SessionCloser.CloseSession),
		handled[Agent](MethodSessionDelete, SessionDeleter.DeleteSession),
		handled[Agent](MethodSessionSetMode, ModeSetter.SetSessionMode),
		handled[Agent](MethodSessionSetConfigOption, ConfigOptionSetter.SetSessionConfigOption),
		handled[Agent](MethodUnstableSessionFork, UnstableSessionForker.UnstableForkSession),
		handled[Agent](MethodUnstableSessionArchive, UnstableSessionArchiver.UnstableArchiveSession),
		handled[Agent](MethodUnstableSessionUnarchive, UnstableSessionArchiver.UnstableUnarchiveSession),
		handled[Agent](MethodUnstableSessionStatus, UnstableSessionStatusReporter.UnstableSessionStatus),
		handled[Agent](MethodUnstableSessionSetTitle, UnstableSessionTitleSetter.UnstableSetSessionTitle),
		handled[Agent](MethodUnstableAuthStatus, UnstableAuthStatusReporter.UnstableAuthStatus),
		handled[Agent](MethodUnstableProvidersList, UnstableProviderManager.UnstableListProviders),
		handled[Agent](MethodUnstableProvidersSet, UnstableProviderManager.UnstableSetProvider),
		handled[Agent](MethodUnstableProvidersDisable, UnstableProviderManager.UnstableDisableProvider),
	}
}
