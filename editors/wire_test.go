//go:build unix

package editors

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// wire keeps every message of a connection, in the order of each direction, and what wherry wrote to stderr.
type wire struct {
	mu     sync.Mutex
	in     []frame // from wherry
	out    []frame // from the editor
	stderr []byte
	news   chan struct{} // closed and made anew with each message from wherry
}

// frame is what is of interest in a message.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		SessionID string                     `json:"sessionId"`
		Update    map[string]json.RawMessage `json:"update"`
		ToolCall  struct {
			ID     string `json:"toolCallId"`
			Status string `json:"status"`
		} `json:"toolCall"`
	} `json:"params"`
}

// text is a member of the frame's update that is a string; "" if there is none.
func (f frame) text(member string) string {
	var s string
	_ = json.Unmarshal(f.Params.Update[member], &s) // another type is no string
	return s
}

func (w *wire) tap(dir acp.Direction, _ time.Time, message []byte) {
	var f frame
	if err := json.Unmarshal(message, &f); err != nil {
		f.Error = slices.Clone(message)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if dir == acp.Incoming {
		w.in = append(w.in, f)
		if w.news != nil {
			close(w.news)
			w.news = nil
		}
	} else {
		w.out = append(w.out, f)
	}
}

// Write takes what wherry writes to stderr.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stderr = append(w.stderr, p...)
	return len(p), nil
}

func (w *wire) stderrText() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.stderr)
}

// fromAgent is what wherry has sent so far.
func (w *wire) fromAgent() []frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.in)
}

// await waits until wherry has sent such a message, and gives its number; -1 when ctx has ended before.
func (w *wire) await(ctx context.Context, is func(frame) bool) int {
	for {
		w.mu.Lock()
		i := slices.IndexFunc(w.in, is)
		if w.news == nil {
			w.news = make(chan struct{})
		}
		news := w.news
		w.mu.Unlock()
		if i >= 0 {
			return i
		}
		select {
		case <-news:
		case <-ctx.Done():
			return -1
		}
	}
}

// answerTo finds where in what wherry sent the answer to the editor's n-th request of a method is; -1 if it is not there.
func (w *wire) answerTo(method string, n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, asked := range w.out {
		if asked.Method != method {
			continue
		}
		if n--; n > 0 {
			continue
		}
		return slices.IndexFunc(w.in, func(f frame) bool { return f.Method == "" && string(f.ID) == string(asked.ID) })
	}
	return -1
}
