package openai_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/internal/suite"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
	"github.com/wherry-acp/wherry/agent/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(at endpoint.Endpoint, info model.Info) model.Model { return openai.New(at, info) }

func TestChatCompletions(t *testing.T) {
	suite.Run(t, suite.Provider{Dialect: modeltest.OpenAIChat, Name: "small", Path: "/v1", New: build})
}

func TestResponses(t *testing.T) {
	suite.Run(t, suite.Provider{Dialect: modeltest.OpenAIResponses, Name: "gpt-6-sol", Path: "/v1", New: build, Signed: true, ResultImages: true})
}
