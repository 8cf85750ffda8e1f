package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/model"
)

// The ways to log in.
const (
	loginKeys  acp.AuthMethodID = "keys"
	loginSetup acp.AuthMethodID = "setup"
)

// setupArgs are added to the program's command for setting it up in a terminal.
const setupArgs = "setup"

// legacyTerminal is the member of the client's _meta, and of an auth method's, by which a terminal was offered before the
// protocol had a capability for it.
const legacyTerminal = "terminal-auth"

const setupName = "Set up in a terminal"

// authMethods are the ways to log in; that in a terminal is for clients that have one.
func authMethods() []acp.AuthMethod {
	return []acp.AuthMethod{
		acp.AuthMethodAgent{
			ID: loginKeys, Name: "Use the keys that are there",
			Description: "Reads the keys again, those in the environment and those that \"wherry setup\" stored, and says what is missing",
		},
		acp.AuthMethodTerminal{
			ID: loginSetup, Name: setupName, Description: "Asks for a provider, its key and a model, tries them and stores them",
			Args: []string{setupArgs},
		},
	}
}

// Initialize offers the terminal in its old form to a client that asks for that.
func (b *Bridge) Initialize(_ context.Context, req acp.InitializeRequest, resp *acp.InitializeResponse) error {
	if raw, ok := req.ClientCapabilities.Meta.Get(legacyTerminal); !ok || string(raw) != "true" || req.ClientCapabilities.Auth.Terminal {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil // the other method is there all the same
	}
	resp.AuthMethods = append(resp.AuthMethods, acp.AuthMethodAgent{
		ID: loginSetup, Name: setupName,
		Meta: acp.Meta(object(map[string]any{legacyTerminal: map[string]any{"label": "wherry setup", "command": program, "args": []string{setupArgs}}})),
	})
	return nil
}

// Authenticate implements authenticate: the credentials are read again, whichever way they came.
func (b *Bridge) Authenticate(ctx context.Context, req acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	if req.MethodID != loginKeys && req.MethodID != loginSetup {
		return acp.AuthenticateResponse{}, badParams("methodId", "one of the authMethods", fmt.Sprintf("%q", req.MethodID))
	}
	err := b.agent.Login(ctx)
	var failure *model.Error
	switch {
	case err == nil:
		return acp.AuthenticateResponse{}, nil
	case ctx.Err() != nil:
		return acp.AuthenticateResponse{}, context.Cause(ctx)
	case errors.As(err, &failure):
		answer := &acp.RequestError{Code: acp.CodeInternalError, Message: sentence(failure)}
		if failure.Kind == model.ErrAuth {
			answer.Code = acp.CodeAuthRequired
		}
		return acp.AuthenticateResponse{}, answer
	}
	return acp.AuthenticateResponse{}, err
}
