package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// gemini is Gemini's generateContent and streamGenerateContent.
type gemini struct{}

func (gemini) name() Dialect { return Gemini }

type gePart struct {
	Text         string `json:"text"`
	Thought      bool   `json:"thought"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
		Parts    []gePart        `json:"parts"`
	} `json:"functionResponse"`
	InlineData *struct {
		MIMEType string `json:"mimeType"`
		Data     string `json:"data"`
	} `json:"inlineData"`
}

type geContent struct {
	Role  string   `json:"role"`
	Parts []gePart `json:"parts"`
}

func (gemini) read(r *http.Request, body []byte) (*Conversation, error) {
	var req struct {
		Contents          []geContent `json:"contents"`
		SystemInstruction geContent   `json:"systemInstruction"`
		Tools             []struct {
			FunctionDeclarations []struct {
				Name                 string          `json:"name"`
				Parameters           json.RawMessage `json:"parameters"`
				ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		GenerationConfig struct {
			ResponseMIMEType   string          `json:"responseMimeType"`
			ResponseSchema     json.RawMessage `json:"responseSchema"`
			ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read generateContent request: %w", err)
	}
	name, verb, _ := strings.Cut(path.Base(r.URL.Path), ":")
	c := &Conversation{Model: name, Stream: verb == "streamGenerateContent"}
	for _, p := range req.SystemInstruction.Parts {
		c.System += p.Text
	}
	for _, t := range req.Tools {
		for _, f := range t.FunctionDeclarations {
			spec := ToolSpec{Name: f.Name, Schema: f.ParametersJSONSchema}
			if spec.Schema == nil {
				spec.Schema = f.Parameters
			}
			c.Tools = append(c.Tools, spec)
		}
	}
	if g := req.GenerationConfig; g.ResponseMIMEType == "application/json" {
		c.Schema = json.RawMessage("null")
		if g.ResponseJSONSchema != nil {
			c.Schema = g.ResponseJSONSchema
		} else if g.ResponseSchema != nil {
			c.Schema = g.ResponseSchema
		}
	}
	for _, content := range req.Contents {
		c.Items = append(c.Items, geItems(content)...)
	}
	return c, nil
}

// geItems splits a content into items: function responses are items of their own.
func geItems(content geContent) []Item {
	var items []Item
	own := Item{Role: User}
	if content.Role == "model" {
		own.Role = Assistant
	}
	used := false
	for _, p := range content.Parts {
		switch {
		case p.FunctionResponse != nil:
			f := p.FunctionResponse
			res := Item{Role: Tool, CallID: f.ID, Text: geResult(f.Response)}
			for _, in := range f.Parts {
				if in.InlineData != nil {
					res.Images = append(res.Images, base64Image(in.InlineData.MIMEType, in.InlineData.Data))
				}
			}
			items = append(items, res)
			continue
		case p.FunctionCall != nil:
			own.Calls = append(own.Calls, Call{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: string(p.FunctionCall.Args)})
		case p.InlineData != nil:
			own.Images = append(own.Images, base64Image(p.InlineData.MIMEType, p.InlineData.Data))
		case !p.Thought:
			own.Text += p.Text
		}
		used = true
	}
	if used {
		items = append(items, own)
	}
	return items
}

// geResult is the text of a function response: its output or error, else all of it.
func geResult(raw json.RawMessage) string {
	var r map[string]any
	if json.Unmarshal(raw, &r) == nil {
		for _, k := range []string{"output", "error", "result"} {
			if s, ok := r[k].(string); ok {
				return s
			}
		}
	}
	return string(raw)
}

func (gemini) failure(status int, why string) any {
	code, msg := "INVALID_ARGUMENT", "The request is not valid."
	var details []any
	switch {
	case why == "quota":
		code, msg = "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."
		details = []any{map[string]any{"@type": "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []any{map[string]any{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}}}}
	case why == "context":
		msg = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
	case why != "":
		msg = why
	case status == http.StatusUnauthorized:
		code, msg = "UNAUTHENTICATED", "API key not valid. Please pass a valid API key."
	case status == http.StatusForbidden:
		code, msg = "PERMISSION_DENIED", "The caller does not have permission."
	case status == http.StatusNotFound:
		code, msg = "NOT_FOUND", "The model is not found for API version v1beta, or is not supported for generateContent."
	case status == http.StatusTooManyRequests:
		code, msg = "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."
	case status == http.StatusServiceUnavailable:
		code, msg = "UNAVAILABLE", "The model is overloaded. Please try again later."
	case status >= 500:
		code, msg = "INTERNAL", "An internal error has occurred."
	}
	e := map[string]any{"code": status, "message": msg, "status": code}
	if details != nil {
		e["details"] = details
	}
	return map[string]any{"error": e}
}

func geFinish(reason string) string {
	switch reason {
	case "length":
		return "MAX_TOKENS"
	case "refuse":
		return "SAFETY"
	}
	return "STOP"
}

func geUsage(u [4]int) map[string]any {
	thoughts := u[1] / 4
	return map[string]any{"promptTokenCount": u[0], "candidatesTokenCount": u[1] - thoughts, "thoughtsTokenCount": thoughts,
		"cachedContentTokenCount": u[2], "totalTokenCount": u[0] + u[1]}
}

func gePiece(p piece) map[string]any {
	switch p.kind {
	case "text":
		return map[string]any{"text": p.text}
	case "thought":
		return map[string]any{"text": p.text, "thought": true}
	}
	call := map[string]any{"name": p.name, "args": geArgs(p.text)}
	if p.id != "" {
		call["id"] = p.id
	}
	return map[string]any{"functionCall": call, "thoughtSignature": Signature}
}

// geArgs keeps arguments that are an object; the format cannot carry anything else.
func geArgs(s string) json.RawMessage {
	if !json.Valid([]byte(s)) || !bytes.HasPrefix(bytes.TrimSpace([]byte(s)), []byte("{")) {
		return json.RawMessage("{}")
	}
	return json.RawMessage(s)
}

func geResponse(c *Conversation, parts []any, finish any) map[string]any {
	cand := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	if finish != nil {
		cand["finishReason"] = finish
	}
	return map[string]any{"candidates": []any{cand}, "modelVersion": c.Model, "responseId": "double"}
}

func (gemini) whole(c *Conversation, pieces []piece, e ending) any {
	parts := []any{}
	for _, p := range pieces {
		parts = append(parts, gePiece(p))
	}
	r := geResponse(c, parts, geFinish(e.reason))
	r["usageMetadata"] = geUsage(e.usage)
	return r
}

type geminiStream struct {
	*sse
	c *Conversation
}

func (gemini) stream(c *Conversation, out *sse) writer { return &geminiStream{out, c} }

func (s *geminiStream) part(p piece)     { s.data("", geResponse(s.c, []any{gePiece(p)}, nil)) }
func (s *geminiStream) open()            {}
func (s *geminiStream) text(t string)    { s.part(piece{kind: "text", text: t}) }
func (s *geminiStream) thought(t string) { s.part(piece{kind: "thought", text: t}) }
func (s *geminiStream) call(p piece)     { s.part(p) }
func (s *geminiStream) fail(text string) { s.data("", gemini{}.failure(500, text)) }

func (s *geminiStream) close(e ending) {
	r := geResponse(s.c, []any{map[string]any{"text": "", "thoughtSignature": Signature}}, geFinish(e.reason))
	r["usageMetadata"] = geUsage(e.usage)
	s.data("", r)
}
