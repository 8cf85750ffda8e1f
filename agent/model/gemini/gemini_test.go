package gemini_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/gemini"
	"github.com/wherry-acp/wherry/agent/model/internal/suite"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(at endpoint.Endpoint, info model.Info) model.Model { return gemini.New(at, info) }

func TestGenerateContent(t *testing.T) {
	suite.Run(t, suite.Provider{Dialect: modeltest.Gemini, Name: "gemini-3-pro-preview", New: build, Signed: true, ResultImages: true})
}
