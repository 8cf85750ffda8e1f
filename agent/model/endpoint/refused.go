package endpoint

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wherry-acp/wherry/agent/model"
)

// refused turns an HTTP status, or an error event in the stream (status 0), into an error.
func (c *Call) refused(status int, said Said) *model.Error {
	e := &model.Error{Kind: kindOf(status, said), Status: status, Err: fmt.Errorf("status %d, code %q", status, clip(c.clean(said.Code), 60))}
	if e.RetryAfter = said.RetryAfter; e.RetryAfter == 0 {
		e.RetryAfter = retryAfter(c.header)
	}
	code := ""
	if status != 0 {
		code = fmt.Sprintf(" (HTTP %d)", status)
	}
	switch e.Kind {
	case model.ErrAuth:
		e.Message = c.authMessage(status, code)
	case model.ErrQuota:
		e.Message = fmt.Sprintf("the account behind %s has nothing left%s. Look at its plan and billing with %s, or choose another model",
			or(c.e.KeyVar, "this key"), code, c.e.Title)
	case model.ErrRateLimit:
		e.Message = fmt.Sprintf("too many requests just now%s%s. Try again then, or choose another model", code, askedWait(e.RetryAfter))
	case model.ErrOverloaded:
		e.Message = fmt.Sprintf("%s is overloaded%s%s. Try again in a moment, or choose another model", c.e.Title, code, askedWait(e.RetryAfter))
	case model.ErrServer:
		e.Message = fmt.Sprintf("%s had an internal error%s. Try again; if it stays so, look at the provider's status page", c.e.Title, code)
	case model.ErrContextFull:
		e.Message = fmt.Sprintf("the conversation is longer than %s can take%s. Compact it, or begin a new session", c.info.Name, code)
	case model.ErrNotFound:
		e.Message = fmt.Sprintf("%s has no model %q, or this key may not use it%s. Choose another model", c.e.Title, c.info.Name, code)
		if c.e.BaseVar != "" {
			e.Message += fmt.Sprintf(", or check the address in %s", c.e.BaseVar)
		}
	case model.ErrGarbage:
		e.Message = fmt.Sprintf("%s answered in a way that a model does not%s%s", c.host, code, c.addressHint())
	default:
		e.Message = fmt.Sprintf("%s refused the request%s", c.e.Title, code)
		if m := clip(c.clean(said.Message), 300); m != "" {
			e.Message += ": " + m
		}
	}
	return e
}

func (c *Call) authMessage(status int, code string) string {
	switch {
	case c.e.KeyVar == "":
		return fmt.Sprintf("%s asks for an API key%s, and none is configured for it", c.host, code)
	case status == http.StatusForbidden:
		return fmt.Sprintf("the key in %s may not use %s%s. Check the key's rights with %s, or choose another model", c.e.KeyVar, c.info.Name, code, c.e.Title)
	}
	return fmt.Sprintf("the API key was not accepted%s. Put a valid key of %s into %s and start again", code, c.e.Title, c.e.KeyVar)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func askedWait(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "; it asks to wait " + Seconds(d)
}

// kindOf sorts a refusal. Providers disagree on statuses, so codes and telling phrases come first.
func kindOf(status int, said Said) model.ErrorKind {
	code, msg := strings.ToLower(said.Code), strings.ToLower(said.Message)
	has := func(phrases ...string) bool {
		for _, p := range phrases {
			if strings.Contains(code, p) || strings.Contains(msg, p) {
				return true
			}
		}
		return false
	}
	client := status >= 400 && status < 500 || status == 0
	switch {
	case status >= 300 && status < 400:
		return model.ErrGarbage
	case client && (said.Quota || status == http.StatusPaymentRequired || has("insufficient_quota", "billing_error", "credit balance", "spend_limit", "insufficient balance")):
		return model.ErrQuota
	case client && has("unsupported_country", "country, region", "location is not supported"): // no key helps
		return model.ErrBadRequest
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		client && has("api key not valid", "api_key_invalid", "api key expired", "invalid_api_key", "authentication_error", "unauthenticated", "permission_denied"):
		return model.ErrAuth
	case client && has("context_length", "context length", "context window", "prompt is too long", "input is too long", "maximum number of tokens allowed",
		"exceeds the available context", "context_full", "too many tokens in"), status == http.StatusRequestEntityTooLarge:
		return model.ErrContextFull
	case status == http.StatusTooManyRequests, client && has("rate_limit", "resource_exhausted"):
		return model.ErrRateLimit
	case status == http.StatusNotFound, client && has("model_not_found", "not_found_error"):
		return model.ErrNotFound
	case status == http.StatusServiceUnavailable, status == 529, (status == 0 || status >= 500) && has("overloaded"):
		return model.ErrOverloaded
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, status == 0:
		return model.ErrServer
	}
	return model.ErrBadRequest
}

// retryAfter reads how long the provider asks to wait.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return time.Duration(min(max(s, 0), 1e8) * float64(time.Second))
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return max(time.Until(at), 0)
}

// clean makes a provider's words fit for a message: one line, without the key, and without what the conversation says.
func (c *Call) clean(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return hide(hide(s, []string{c.e.Key}, keyPiece), texts(c.req), quotation)
}

// How many bytes in a row count as a piece of the key, and as a quotation of the conversation.
const (
	keyPiece  = 6
	quotation = 24
)

// hide replaces everything in s that has at least length bytes in common with one of the texts.
func hide(s string, texts []string, length int) string {
	quotes := func(part string) bool {
		for _, t := range texts {
			if strings.Contains(t, part) {
				return true
			}
		}
		return false
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		end := i + length
		if end > len(s) || !quotes(s[i:end]) {
			out.WriteByte(s[i])
			i++
			continue
		}
		for end < len(s) && quotes(s[i:end+1]) {
			end++
		}
		out.WriteString("…")
		i = end
	}
	return strings.ToValidUTF8(out.String(), "")
}

// texts are all words of a conversation, each with its white space made single.
func texts(req model.Request) []string {
	all := []string{req.System}
	var add func(parts []model.Part)
	add = func(parts []model.Part) {
		for _, p := range parts {
			switch p := p.(type) {
			case model.Text:
				all = append(all, p.Text)
			case model.Thought:
				all = append(all, p.Text)
			case model.ToolCall:
				all = append(all, string(p.Args))
			case model.ToolResult:
				add(p.Parts)
			}
		}
	}
	for _, m := range req.Messages {
		add(m.Parts)
	}
	for i, t := range all {
		all[i] = strings.Join(strings.Fields(t), " ")
	}
	return all
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
