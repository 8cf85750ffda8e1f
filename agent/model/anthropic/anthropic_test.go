package anthropic_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/anthropic"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/internal/suite"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(at endpoint.Endpoint, info model.Info) model.Model { return anthropic.New(at, info) }

func TestMessages(t *testing.T) {
	suite.Run(t, suite.Provider{Dialect: modeltest.Anthropic, Name: "claude-sonnet-5", New: build, Signed: true, ResultImages: true})
}
