package gemini

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// said reads what Gemini said about a failure.
func said(err error) endpoint.Said {
	var e *wireError
	if !errors.As(err, &e) {
		return endpoint.Said{}
	}
	s := endpoint.Said{Status: e.Code, Code: e.Status, Message: e.Message}
	for _, d := range e.Details {
		addDetail(&s, d)
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
