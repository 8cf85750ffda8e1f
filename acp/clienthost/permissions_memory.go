package clienthost

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// MaxRemembered is how many "always" answers are remembered for a session; what is beyond
// is asked about again.
const MaxRemembered = 1000

// Remembered is an "always" answer that Permissions remembers.
type Remembered struct {
	SessionID acp.SessionID
	ToolName  string
	ToolKind  acp.ToolKind
	Title     string // the agent's words, and so perhaps with what is secret
	Decision  Decision
	Since     time.Time
	// Digest stands for everything that the request showed of the tool call: name, kind,
	// title, input, locations and content.
	Digest string
}

// A key is a digest.
type key [sha256.Size]byte

// String returns the key in hexadecimal.
func (k key) String() string { return hex.EncodeToString(k[:]) }

// digest returns the key of what a request shows. ok is false if that does not say what is
// to be done.
func digest(req acp.RequestPermissionRequest) (k key, ok bool) {
	c := req.ToolCall
	if input := c.RawInput; (len(input) == 0 || input.Kind() == 'n') && len(c.Content) == 0 {
		return key{}, false
	}
	shown := acp.ToolCallUpdate{
		Name: c.Name, Kind: c.Kind, Title: c.Title, RawInput: c.RawInput, Locations: c.Locations, Content: c.Content,
	}
	text, err := acp.Codec{Unstable: true}.Append(nil, &shown)
	if err != nil {
		return key{}, false
	}
	return sha256.Sum256(text), true
}

// memory holds what is remembered.
type memory struct {
	sessions map[acp.SessionID]map[key]Remembered
}

func (m *memory) find(id acp.SessionID, k key) (Remembered, bool) {
	r, ok := m.sessions[id][k]
	return r, ok
}

func (m *memory) put(req acp.RequestPermissionRequest, k key, d Decision, now time.Time) {
	s := m.sessions[req.SessionID]
	if _, again := s[k]; !again && len(s) >= MaxRemembered {
		return
	}
	if m.sessions == nil {
		m.sessions = make(map[acp.SessionID]map[key]Remembered)
	}
	if s == nil {
		s = make(map[key]Remembered)
		m.sessions[req.SessionID] = s
	}
	s[k] = Remembered{
		SessionID: req.SessionID, ToolName: req.ToolCall.Name, ToolKind: req.ToolCall.Kind, Title: req.ToolCall.Title,
		Decision: d, Since: now, Digest: k.String(),
	}
}

// List returns what is remembered for a session, the oldest first.
func (p *Permissions) List(id acp.SessionID) []Remembered {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Remembered
	for _, r := range p.memory.sessions[id] {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Remembered) int { return a.Since.Compare(b.Since) })
	return all
}

// Forget forgets one answer, so that its like is asked about again, and reports whether it
// was remembered. What the agent was told to remember, it may still remember itself.
func (p *Permissions) Forget(r Remembered) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.memory.sessions[r.SessionID]
	for k := range s {
		if k.String() == r.Digest {
			delete(s, k)
			return true
		}
	}
	return false
}

// ForgetSession forgets all answers of a session. It is for sessions that are closed.
func (p *Permissions) ForgetSession(id acp.SessionID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.memory.sessions, id)
}
