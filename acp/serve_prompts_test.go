package acp_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func promptLine(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"%d"}]}}`, id, id)
}

func TestAPromptThatAllowsTheNextOneIsNotWaitedFor(t *testing.T) {
	var mu sync.Mutex
	var order []string
	agent := &full{}
	agent.prompt = func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		mu.Lock()
		order = append(order, acp.PlainText(req.Prompt...))
		mu.Unlock()
		acp.AllowNextPrompt(ctx)
		acp.AllowNextPrompt(ctx) // is one too many, and does no harm
		if acp.PlainText(req.Prompt...) != "5" {
			<-ctx.Done() // all wait for the cancel that the last one's answer brings
			return acp.PromptResponse{}, ctx.Err()
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}
	w := greeted(t, agent, nil)
	w.send(promptLine(1), promptLine(2), promptLine(3), promptLine(4), promptLine(5))
	w.want(`"id":5,"result":{"stopReason":"end_turn"}`)
	w.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
	for range 4 {
		w.want(`"result":{"stopReason":"cancelled"}`)
	}
	if want := []string{"1", "2", "3", "4", "5"}; !slices.Equal(order, want) {
		t.Errorf("begun in the order %v", order)
	}
}

func TestAPromptThatIsGivenUpWhileItWaitsDoesNotLetTheNextOnePassTheFirst(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	agent := &full{}
	agent.prompt = func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		if acp.PlainText(req.Prompt...) == "1" {
			close(began)
			<-goOn
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}
	w := greeted(t, agent, nil)
	w.send(promptLine(1))
	<-began
	w.send(promptLine(2), promptLine(3), `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`)
	w.want(`"id":2,"error":{"code":-32800`)
	w.send(`{"jsonrpc":"2.0","id":4,"method":"session/list","params":{}}`)
	w.want(`"id":4,"result"`) // and not the third prompt's
	close(goOn)
	w.want(`"id":1,"result":{"stopReason":"end_turn"}`)
	w.want(`"id":3,"result":{"stopReason":"end_turn"}`)
}
