package gemini

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// The types are what this package uses of the format; fields of others are ignored.
type (
	wireRequest struct {
		System   *content    `json:"systemInstruction,omitempty"`
		Contents []*content  `json:"contents"`
		Tools    []tool      `json:"tools,omitempty"`
		Config   *generation `json:"generationConfig,omitempty"`
	}
	content struct {
		Role  string  `json:"role,omitempty"`
		Parts []*part `json:"parts"`
	}
	part struct {
		Text      *string         `json:"text,omitempty"`
		Thought   bool            `json:"thought,omitempty"`
		Signature string          `json:"thoughtSignature,omitempty"` // base64, kept as it came
		Inline    *blob           `json:"inlineData,omitempty"`
		Call      *functionCall   `json:"functionCall,omitempty"`
		Result    *functionResult `json:"functionResponse,omitempty"`
	}
	blob struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"`
	}
	functionCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
	}
	functionResult struct {
		ID       string            `json:"id,omitempty"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
		Parts    []*part           `json:"parts,omitempty"`
	}
	tool struct {
		Functions []function `json:"functionDeclarations"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"parametersJsonSchema"`
	}
	generation struct {
		MaxOutputTokens int       `json:"maxOutputTokens,omitempty"`
		Thinking        *thinking `json:"thinkingConfig,omitempty"`
	}
	thinking struct {
		Include bool   `json:"includeThoughts"`
		Level   string `json:"thinkingLevel,omitempty"`
	}
)

type wireResponse struct {
	Candidates []struct {
		Content      content `json:"content"`
		FinishReason string  `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt    int `json:"promptTokenCount"`
		Tools     int `json:"toolUsePromptTokenCount"`
		Candidate int `json:"candidatesTokenCount"`
		Thoughts  int `json:"thoughtsTokenCount"`
		Cached    int `json:"cachedContentTokenCount"`
	} `json:"usageMetadata"`
	Error *wireError `json:"error"`
}

// wireError is what Gemini says about a failure. Its text never leaves this package unseen.
type wireError struct {
	Code    int               `json:"code"`
	Message string            `json:"message"`
	Status  string            `json:"status"`
	Details []json.RawMessage `json:"details"`
}

func (e *wireError) Error() string { return fmt.Sprintf("gemini: %d %s", e.Code, e.Status) }

// longestError is how much of a failure's body is read.
const longestError = 1 << 20

// send makes a request and gives its answer's body, or what Gemini said about the failure.
func (m *Model) send(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		payload = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, m.at.BaseURL+path, payload)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Goog-Api-Key", m.at.Key)
	resp, err := m.client.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	failure := &wireError{Code: resp.StatusCode}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, longestError))
	if err != nil {
		return nil, failure
	}
	if e := errorIn(raw); e != nil {
		failure = e
		failure.Code = resp.StatusCode
	}
	return nil, failure
}

// errorIn reads {"error": …}, alone or in a list; nil if there is none.
func errorIn(raw []byte) *wireError {
	var one wireResponse
	if json.Unmarshal(raw, &one) == nil {
		return one.Error
	}
	var list []wireResponse
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list[0].Error
	}
	return nil
}

// generate streams an answer. The sequence ends with the body; whether that was the answer's end is for the caller to tell.
func (m *Model) generate(ctx context.Context, req *wireRequest) iter.Seq2[*wireResponse, error] {
	return func(yield func(*wireResponse, error) bool) {
		body, err := m.send(ctx, http.MethodPost, "/v1beta/models/"+url.PathEscape(m.info.Name)+":streamGenerateContent?alt=sse", req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = body.Close() }()
		for data, err := range events(body) {
			if err != nil {
				yield(nil, err)
				return
			}
			resp := new(wireResponse)
			if err := json.Unmarshal(data, resp); err != nil {
				yield(nil, err)
				return
			}
			if resp.Error != nil {
				yield(nil, resp.Error)
				return
			}
			if !yield(resp, nil) {
				return
			}
		}
	}
}

// events reads the data of server-sent events. Data in several lines is one event's. An event that the stream's end cuts
// off is left out. What is no event stream at all is an error.
func events(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReader(r)
		var data []byte
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				if len(bytes.TrimSpace(line)) == 0 && data != nil { // the last event needs no empty line after it
					yield(data, nil)
				}
				return // the end, however it came about, is known to the call
			}
			line = bytes.TrimRight(line, "\r\n")
			value, isData := bytes.CutPrefix(line, []byte("data:"))
			switch {
			case isData:
				if data != nil {
					data = append(data, '\n')
				}
				data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			case len(line) == 0 && data != nil:
				if !yield(data, nil) {
					return
				}
				data = nil
			case len(line) > 0 && !isField(line):
				rest, _ := io.ReadAll(io.LimitReader(in, longestError)) // an error's JSON, with or without a regular end
				if e := errorIn(append(append(line, '\n'), rest...)); e != nil {
					yield(nil, e)
				} else {
					yield(nil, fmt.Errorf("read an event: %w", endpoint.ErrFormat))
				}
				return
			}
		}
	}
}

// isField tells the other lines of an event stream: comments and the fields event, id and retry.
func isField(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return false
	}
	switch string(name) {
	case "", "event", "id", "retry":
		return true
	}
	return false
}

// models asks for the names of the models.
func (m *Model) models(ctx context.Context) ([]string, error) {
	var names []string
	for token := ""; ; {
		body, err := m.send(ctx, http.MethodGet, "/v1beta/models?pageSize=1000&pageToken="+url.QueryEscape(token), nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Models []struct {
				Name string `json:"name"`
			} `json:"models"`
			Next string `json:"nextPageToken"`
		}
		err = json.NewDecoder(body).Decode(&page)
		_ = body.Close()
		if err != nil {
			return nil, errors.Join(endpoint.ErrFormat, err)
		}
		for _, e := range page.Models {
			names = append(names, e.Name)
		}
		if page.Next == "" || page.Next == token {
			return names, nil
		}
		token = page.Next
	}
}
