package agent

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/mcp"
	"github.com/wherry-acp/wherry/agent/tool"
)

// serversWait bounds how long a request to the model waits for servers that are starting.
const serversWait = 5 * time.Second

// servers are the MCP servers of a session: those that are configured, and those that its client brings.
type servers struct {
	changing sync.Mutex // one change at a time; it may wait for servers to end
	brought  []mcp.Server
	closed   bool

	mu  sync.Mutex // guards set, and is never held for long
	set *mcp.Set   // nil until the first Bring, and after close
}

// Bring replaces the MCP servers that the session's client brings. It waits for those before to end, seconds at most, and not
// for the new ones: they start in the background, and what fails is told in the conversation. When all are the same as before
// they are left alone.
func (s *Session) Bring(brought []mcp.Server) {
	sv := &s.servers
	sv.changing.Lock()
	defer sv.changing.Unlock()
	before := sv.now()
	if sv.closed || before != nil && reflect.DeepEqual(sv.brought, brought) {
		return
	}
	if before != nil {
		before.Close()
		s.mu.Lock()
		s.allowedTools = nil // another server may bear the name
		s.mu.Unlock()
	}
	all := slices.Clone(brought)
	for _, own := range s.agent.opts.Servers {
		if !slices.ContainsFunc(brought, func(b mcp.Server) bool { return b.Name == own.Name }) {
			all = append(all, own)
		}
	}
	sv.brought = brought
	sv.replace(mcp.Open(all, mcp.Options{
		Dir: s.hostNow().Roots()[0], Version: s.agent.opts.Version, Logger: s.agent.log,
		Notify: func(n mcp.Notice) { s.tell(n.Severity, n.Text) },
	}))
}

func (sv *servers) replace(set *mcp.Set) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.set = set
}

// now gives the set, nil when there is none.
func (sv *servers) now() *mcp.Set {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.set
}

// close ends the servers, for good.
func (sv *servers) close() {
	sv.changing.Lock()
	defer sv.changing.Unlock()
	sv.closed = true
	if set := sv.now(); set != nil {
		set.Close()
		sv.replace(nil)
	}
}

// wait gives servers that are starting a moment.
func (sv *servers) wait(ctx context.Context) {
	if set := sv.now(); set != nil {
		set.Wait(ctx, serversWait)
	}
}

// tools are what the model can use now: the agent's own, and those of the servers.
func (s *Session) tools() []tool.Tool {
	all := offered(s.agent.opts.Tools, s.hostNow(), s.Mode() == approval.ModePlan)
	if set := s.servers.now(); set != nil {
		all = append(all, set.Tools()...)
	}
	return all
}

// ownTool tells whether a tool of this name is the agent's. Servers are not asked which are theirs: they come and go.
func (s *Session) ownTool(name string) bool {
	return slices.ContainsFunc(s.agent.opts.Tools, func(t tool.Tool) bool { return t.Spec().Name == name })
}

// downServers are those that cannot be used, for the model to know.
func (s *Session) downServers() []string {
	set := s.servers.now()
	if set == nil {
		return nil
	}
	var out []string
	for _, st := range set.Status() {
		switch st.State {
		case mcp.StateFailed:
			if len(st.Tools) == 0 {
				out = append(out, st.Name+" (failed)")
			}
		case mcp.StateStarting:
			out = append(out, st.Name+" (still starting)")
		case mcp.StateReady, mcp.StateStopped:
		}
	}
	return out
}

// showServers answers the command /mcp.
func showServers(_ context.Context, t *turn, args string) (string, error) {
	set := t.s.servers.now()
	if set == nil || len(set.Status()) == 0 {
		return "There are no MCP servers. Your editor can bring some, and the settings have them under `[mcp.NAME]`.", nil
	}
	if rest, ok := strings.CutPrefix(args, "restart"); ok {
		name := strings.TrimSpace(rest)
		if err := set.Restart(name); err != nil {
			return "", err
		}
		return fmt.Sprintf("`%s` is starting anew. Its tools are there once it is ready.", name), nil
	}
	if args != "" {
		return "", fmt.Errorf("say /mcp for the servers, or /mcp restart NAME, not %q", args)
	}
	var b strings.Builder
	for _, st := range set.Status() {
		fmt.Fprintf(&b, "- `%s` (%s): %s", st.Name, st.Transport, st.State)
		if st.Program != "" {
			fmt.Fprintf(&b, ", %s", st.Program)
		}
		if len(st.Tools) > 0 {
			fmt.Fprintf(&b, ", tools `%s`", strings.Join(st.Tools, "`, `"))
		}
		b.WriteString("\n")
		if st.Error != "" {
			b.WriteString("\n```\n" + strings.ReplaceAll(st.Error, "```", "'''") + "\n```\n\n")
		}
	}
	return b.String(), nil
}
