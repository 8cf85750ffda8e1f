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

// TestMain leaves out a goroutine that the library starts when the program does and never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func build(at endpoint.Endpoint, info model.Info) model.Model {
	m, err := gemini.New(at, info)
	if err != nil {
		panic(err)
	}
	return m
}

func TestGenerateContent(t *testing.T) {
	suite.Run(t, suite.Provider{Dialect: modeltest.Gemini, Name: "gemini-3-pro-preview", New: build, Signed: true, ResultImages: true})
}
