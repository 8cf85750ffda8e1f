package bridge

import (
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// metaKey is the member of _meta that holds what is wherry's own.
const metaKey = "wherry"

// badParams answers a request with a field that is not as it must be (-32602).
func badParams(path, expected, got string) *acp.RequestError {
	err := acp.InvalidParams("%s: expected %s, got %s", path, expected, got)
	err.Data = object(map[string]string{"path": path, "expected": expected})
	return err
}

// response answers a prompt whose turn has ended. A failure is told in the conversation; the answer's _meta says so for
// programs, and a refused login is the protocol's own error, so that the client can offer one.
func response(result agent.TurnResult) (acp.PromptResponse, error) {
	used, own := spent(result)
	if result.Err != nil {
		var failure *model.Error
		if errors.As(result.Err, &failure) && failure.Kind == model.ErrAuth {
			err := acp.AuthRequired()
			err.Message += ": " + failure.Error()
			return acp.PromptResponse{}, err
		}
		about := map[string]string{"message": result.Err.Error()}
		if failure != nil {
			about["kind"] = string(failure.Kind)
		}
		own["error"] = about
		return acp.PromptResponse{StopReason: failedStop(failure), UnstableUsage: used, Meta: meta(own)}, nil
	}
	resp := acp.PromptResponse{StopReason: acp.StopEndTurn, UnstableUsage: used}
	if len(own) > 0 {
		resp.Meta = meta(own)
	}
	switch result.Reason {
	case session.StopMaxTokens:
		resp.StopReason = acp.StopMaxTokens
	case session.StopMaxSteps:
		resp.StopReason = acp.StopMaxTurnRequests
	case session.StopRefusal:
		resp.StopReason = acp.StopRefusal
	case session.StopCancelled:
		resp.StopReason = acp.StopCancelled
	}
	return resp, nil
}

// failedStop is the reason that comes nearest to a failure, which the protocol has none for.
func failedStop(failure *model.Error) acp.StopReason {
	if failure != nil && failure.Kind == model.ErrContextFull {
		return acp.StopMaxTokens
	}
	return acp.StopEndTurn
}

// meta is a _meta object with wherry's own member.
func meta(members any) acp.Meta {
	return acp.Meta(object(map[string]any{metaKey: members}))
}

func object(v any) jsontext.Value {
	data, err := json.Marshal(v)
	if err != nil { // maps of plain values always marshal
		panic(err)
	}
	return data
}

// note is what a client adds to the answer to a permission request, where it can: the person's reason, or that nobody was
// there to ask.
func note(m acp.Meta) (reason string, nobody bool) {
	raw, ok := m.Get(metaKey)
	if !ok {
		return "", false
	}
	var own struct {
		Reason string `json:"reason"`
		Nobody bool   `json:"nobody"`
	}
	if err := json.Unmarshal(raw, &own); err != nil {
		return "", false
	}
	return own.Reason, own.Nobody
}
