package acp_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

func ExampleCheck() {
	// In a test of the agent:
	var t testing.TB
	if err := acp.Check(hello{}, nil); err != nil {
		t.Error(err)
	}
}

// loadsByPointer has the signature that many agents get wrong.
type loadsByPointer struct{ scripted }

func (*loadsByPointer) LoadSession(context.Context, *acp.LoadSessionRequest) (*acp.LoadSessionResponse, error) {
	return nil, nil
}

// ends has a method of its own whose name is the protocol's.
type ends struct{ scripted }

func (*ends) Logout() {}

// value is served as a value, but has a method with a pointer receiver.
type value struct{ hello }

func (*value) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, nil
}

// misnamed has a method of the protocol under another name.
type misnamed struct{ scripted }

func (*misnamed) SetMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, nil
}

// loader loads sessions that nobody can find.
type loader struct{ scripted }

func (*loader) LoadSession(context.Context, acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	return acp.LoadSessionResponse{}, nil
}

// lister lists sessions that nobody can open.
type lister struct{ scripted }

func (*lister) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, nil
}

// login logs in.
type login struct{ scripted }

func (*login) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

// found returns "method capability" of every problem.
func found(err error) []string {
	var all []string
	var walk func(error)
	walk = func(err error) {
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, err := range many.Unwrap() {
				walk(err)
			}
			return
		}
		if p, ok := errors.AsType[*acp.CheckProblem](err); ok {
			all = append(all, p.Method+" "+p.Capability)
		}
	}
	walk(err)
	return all
}

func TestCheckNamesEveryProblemWithItsMethodAndCapability(t *testing.T) {
	const (
		load   = "agentCapabilities.loadSession"
		list   = "agentCapabilities.sessionCapabilities.list"
		resume = "agentCapabilities.sessionCapabilities.resume"
	)
	key := acp.AuthMethodAgent{ID: "key", Name: "Key"}
	for _, tc := range []struct {
		name  string
		agent acp.Agent
		opts  acp.AgentOptions
		want  []string
		text  string
	}{
		{"the smallest agent", hello{}, acp.AgentOptions{}, nil, ""},
		{"a full agent", &full{}, acp.AgentOptions{}, nil, ""},
		{"no agent", nil, acp.AgentOptions{}, []string{" "}, "nil"},
		{"advertised twice, implemented never", hello{}, acp.AgentOptions{Capabilities: func(c *acp.AgentCapabilities) {
			c.LoadSession = true
			c.SessionCapabilities.Resume = &acp.SessionResumeCapabilities{}
		}}, []string{"LoadSession " + load, "ResumeSession " + resume}, "hello does not implement session/resume"},
		{"hidden", &full{}, acp.AgentOptions{Capabilities: func(c *acp.AgentCapabilities) { c.LoadSession = false }},
			[]string{"LoadSession " + load}, "clients cannot call session/load"},
		{"a pointer too many", &loadsByPointer{}, acp.AgentOptions{}, []string{"LoadSession " + load},
			"with the signature func(context.Context, *acp.LoadSessionRequest) (*acp.LoadSessionResponse, error); for session/load (agentCapabilities.loadSession) it must be func(context.Context, acp.LoadSessionRequest) (acp.LoadSessionResponse, error)"},
		{"another meaning", &ends{}, acp.AgentOptions{}, []string{"Logout agentCapabilities.auth.logout"}, "rename"},
		{"a pointer receiver", value{}, acp.AgentOptions{}, []string{"ListSessions " + list}, "serve a pointer"},
		{"another name", &misnamed{}, acp.AgentOptions{}, []string{"SetSessionMode session/set_mode"}, "must be named SetSessionMode"},
		{"load without list", &loader{}, acp.AgentOptions{}, []string{"LoadSession " + list}, "no session to load"},
		{"list without load", &lister{}, acp.AgentOptions{}, []string{"ListSessions " + load}, "cannot be opened"},
		{"an auth method without its handler", hello{}, acp.AgentOptions{AuthMethods: []acp.AuthMethod{key}}, []string{"Authenticate authMethods"}, `"key"`},
		{"an authenticator without methods", &login{}, acp.AgentOptions{}, []string{"Authenticate authMethods"}, "is empty"},
		{"auth methods with one id", &login{}, acp.AgentOptions{AuthMethods: []acp.AuthMethod{key, key, acp.AuthMethodAgent{}}}, []string{"Authenticate authMethods", "Authenticate authMethods"}, "two auth methods"},
		{"unstable but off", &forker{}, acp.AgentOptions{}, []string{"UnstableForkSession agentCapabilities.sessionCapabilities.fork"}, "Options.Unstable is off"},
		{"unstable and on", &forker{}, acp.AgentOptions{Options: acp.Options{Unstable: true}}, nil, ""},
		{"extensions", hello{}, acp.AgentOptions{Extensions: map[string]acp.Extension{"plain": acp.ExtensionNotification(func(context.Context, int) {}), "_empty": {}}},
			[]string{" AgentOptions.Extensions", " AgentOptions.Extensions"}, `"plain"`},
		{"info", hello{}, acp.AgentOptions{Info: &acp.Implementation{Name: "x"}}, []string{" AgentOptions.Info"}, "no version"},
		{"several at once", &loadsByPointer{}, acp.AgentOptions{Capabilities: func(c *acp.AgentCapabilities) { c.LoadSession = true }, AuthMethods: []acp.AuthMethod{key}},
			[]string{"LoadSession " + load, "LoadSession " + load, "Authenticate authMethods"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := acp.Check(tc.agent, &tc.opts)
			if got := found(err); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %q\nwant %q\n%v", got, tc.want, err)
			}
			if err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("no %q in\n%v", tc.text, err)
			}
		})
	}
}

func TestServeRefusesAMethodWithTheRightNameAndAnotherSignature(t *testing.T) {
	for _, agent := range []acp.Agent{&loadsByPointer{}, &ends{}, value{}} {
		_, tr := transport.Pipe()
		client, err := acp.Accept(t.Context(), tr, agent, nil)
		if err == nil {
			_ = client.Close()
			t.Errorf("%T is served", agent)
			continue
		}
		if p, ok := errors.AsType[*acp.CheckProblem](err); !ok || p.Method == "" {
			t.Errorf("%T: %v", agent, err)
		}
	}
}

// The methods that Check knows are those of the optional interfaces.
func TestCheckKnowsEveryOptionalInterface(t *testing.T) {
	for _, i := range []reflect.Type{
		reflect.TypeFor[acp.Initializer](), reflect.TypeFor[acp.Authenticator](), reflect.TypeFor[acp.LogoutHandler](),
		reflect.TypeFor[acp.SessionLoader](), reflect.TypeFor[acp.SessionResumer](), reflect.TypeFor[acp.SessionLister](),
		reflect.TypeFor[acp.SessionCloser](), reflect.TypeFor[acp.SessionDeleter](), reflect.TypeFor[acp.ModeSetter](),
		reflect.TypeFor[acp.ConfigOptionSetter](), reflect.TypeFor[acp.SessionCanceller](), reflect.TypeFor[acp.UnstableSessionForker](),
		reflect.TypeFor[acp.UnstableSessionArchiver](), reflect.TypeFor[acp.UnstableSessionStatusReporter](),
		reflect.TypeFor[acp.UnstableSessionTitleSetter](), reflect.TypeFor[acp.UnstableAuthStatusReporter](),
		reflect.TypeFor[acp.UnstableProviderManager](), reflect.TypeFor[acp.UnstableMCPReceiver](),
	} {
		for m := range i.Methods() {
			if want, ok := acp.OptionalSignature(m.Name); !ok || want != m.Type {
				t.Errorf("%v.%s: %v", i, m.Name, want)
			}
		}
	}
}
