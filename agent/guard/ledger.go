package guard

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"sync"

	"github.com/wherry-acp/wherry/agent/guard/detect"
)

// mostHolders bounds how many values a session tells apart. What comes after gets a placeholder without a number, which
// cannot be put back.
const mostHolders = 1 << 16

// longestHolder is the length of the longest placeholder that is looked for, in bytes.
const longestHolder = len("[SECRET-") + 9 + len("]")

// ledger knows which placeholder stands for what. Of secrets it keeps a digest only.
type ledger struct {
	mu       sync.Mutex
	holders  map[value]string  // placeholders of values
	values   map[string]string // values of placeholders, of personal data
	secrets  map[string]bool   // placeholders of secrets
	reserved map[string]bool   // what looks like a placeholder and stood in a text
	last     map[detect.Kind]int
}

type value struct {
	kind detect.Kind
	text string
}

func newLedger() *ledger {
	return &ledger{
		holders: map[value]string{}, values: map[string]string{}, secrets: map[string]bool{}, reserved: map[string]bool{},
		last: map[detect.Kind]int{},
	}
}

// holder gives the placeholder of a value, and whether it is a new one.
func (l *ledger) holder(kind detect.Kind, text string) (holder string, fresh bool) {
	key := value{kind, text}
	if !kind.Personal() {
		sum := sha256.Sum256([]byte(text))
		key.text = string(sum[:])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, ok := l.holders[key]; ok {
		return h, false
	}
	if len(l.holders) >= mostHolders {
		return "[" + string(kind) + "]", false
	}
	for {
		l.last[kind]++
		holder = "[" + string(kind) + "-" + strconv.Itoa(l.last[kind]) + "]"
		if !l.reserved[holder] {
			break
		}
	}
	if kind.Personal() { // not a piece of a long text, which would be kept with it
		key.text = strings.Clone(text)
	}
	l.holders[key] = holder
	if kind.Personal() {
		l.values[holder] = key.text
	} else {
		l.secrets[holder] = true
	}
	return holder, true
}

// reserve keeps what looks like a placeholder in a text from becoming one.
func (l *ledger) reserve(text string) {
	eachHolder(text, func(start, end int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		holder := text[start:end]
		if _, taken := l.values[holder]; !taken && !l.secrets[holder] && len(l.reserved) < mostHolders {
			l.reserved[strings.Clone(holder)] = true
		}
	})
}

// restore puts values back.
func (l *ledger) restore(text string) string {
	var b strings.Builder
	at := 0
	eachHolder(text, func(start, end int) {
		l.mu.Lock()
		original, ok := l.values[text[start:end]]
		l.mu.Unlock()
		if ok {
			b.WriteString(text[at:start])
			b.WriteString(original)
			at = end
		}
	})
	if at == 0 {
		return text
	}
	b.WriteString(text[at:])
	return b.String()
}

// secretIn gives the first placeholder of a secret in a text; empty for none.
func (l *ledger) secretIn(text string) string {
	first := ""
	eachHolder(text, func(start, end int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if first == "" && l.secrets[text[start:end]] {
			first = text[start:end]
		}
	})
	return first
}

// eachHolder calls found with the bounds of what looks like a placeholder.
func eachHolder(text string, found func(start, end int)) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '[')
		if i < 0 {
			return
		}
		at += i
		if n, whole := holderLength(text[at:]); whole {
			found(at, at+n)
			at += n
			continue
		}
		at++
	}
}

// holderLength is how far a text that begins with "[" goes on like a placeholder, and whether it is a whole one.
func holderLength(text string) (n int, whole bool) {
	n = 1
	for n < len(text) && n < longestHolder && text[n] >= 'A' && text[n] <= 'Z' {
		n++
	}
	if n == 1 || n == len(text) || text[n] != '-' {
		return n, false
	}
	n++
	digits := n
	for n < len(text) && n < longestHolder && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	if n == digits || n == len(text) || text[n] != ']' {
		return n, false
	}
	return n + 1, true
}
