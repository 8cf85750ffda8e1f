package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
)

// maxName is the longest name of a tool that every provider's API takes, in characters.
const maxName = 64

// names gives tools the names that the model knows. A name is server__tool where that is a name that every API takes and
// from which both can be told; else it is made so, and ends with a digest of both.
type names struct {
	mu    sync.Mutex
	taken map[string]string // name to owner
}

// of gives the name for a tool, the same whenever it is asked for, and no two tools the same.
func (n *names) of(server, tool string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.taken == nil {
		n.taken = map[string]string{}
	}
	owner := strconv.Quote(server) + strconv.Quote(tool)
	name := server + "__" + tool
	if !speaking(server) || strings.Contains(server, "__") || strings.HasSuffix(server, "_") || !speaking(tool) ||
		!leads(name[0]) || len(name) > maxName {
		name = digested(server, tool, owner)
	}
	for salt := 0; n.taken[name] != "" && n.taken[name] != owner; salt++ {
		name = digested(server, tool, owner+strconv.Itoa(salt))
	}
	n.taken[name] = owner
	return name
}

// speaking tells whether s is of letters, digits, "_" and "-" alone.
func speaking(s string) bool { return s != "" && s == safe(s) }

// leads tells whether a name may begin with c.
func leads(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func safe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

func digested(server, tool, of string) string {
	sum := sha256.Sum256([]byte(of))
	end := "_" + hex.EncodeToString(sum[:4])
	server, tool = safe(server), safe(tool)
	if server == "" || !leads(server[0]) {
		server = "_" + server
	}
	const separator = "__"
	room := maxName - len(end) - len(separator)
	if len(server)+len(tool) > room { // both keep something to be known by
		server = server[:min(len(server), max(room/3, room-len(tool)))]
		tool = tool[:min(len(tool), room-len(server))]
	}
	return server + separator + tool + end
}
