package gemini

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// said reads what Gemini said about a failure.
func said(err error) endpoint.Said {
	var e genai.APIError
	if !errors.As(err, &e) {
		return endpoint.Said{}
	}
	s := endpoint.Said{Status: e.Code, Code: e.Status, Message: e.Message}
	for _, d := range e.Details {
		raw, err := json.Marshal(d)
		if err != nil {
			continue
		}
		addDetail(&s, raw)
	}
	return s
}

// addDetail takes what a detail of an error tells: which limit was met, when to come back, what is wrong with the key.
func addDetail(s *endpoint.Said, raw json.RawMessage) {
	var d struct {
		Reason     string
		RetryDelay string
		Violations []struct{ QuotaID string }
	}
	if json.Unmarshal(raw, &d) != nil {
		return
	}
	if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
		s.RetryAfter = wait
	}
	if strings.HasPrefix(d.Reason, "API_KEY") {
		s.Code = d.Reason
	}
	for _, v := range d.Violations {
		if strings.Contains(v.QuotaID, "PerDay") { // those per minute pass
			s.Quota = true
		}
	}
}

// cutInTwo tells an error that comes of a last event cut in two: the library decodes what it has at the stream's end.
func cutInTwo(err error, call *endpoint.Call) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && call.MidLine()
}
