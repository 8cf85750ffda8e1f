package detect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// detector is what is tried where one of its keywords stands in a text.
type detector struct {
	keywords []string // lower-case
	// find looks at a keyword at text[start:end] and adds what it finds there. Nil for others.
	find func(text string, start, end int, found []Span) []Span
	// sweep does too, and gives up to where it has looked; it is not called for keywords before that.
	sweep func(text string, start, end int, found []Span) ([]Span, int)
	rule  *rule
}

// library is the rules for secrets: those of gitleaks, and our own for what gitleaks leaves out. It never changes; its rules
// are compiled when first needed.
type library struct {
	keywords  *automaton
	detectors []detector
	byKeyword [][]int // detectors by the number of a keyword
	length    []int   // by the number of a keyword
	allowed   allowlist
}

// standard reads gitleaks' rules, once a process.
var standard = sync.OnceValues(func() (*library, error) { return newLibrary(config.DefaultConfig) })

// replaced are rules of gitleaks for which we have our own: gitleaks scans files, and here are pieces of files with line
// numbers before each line; and a rule that goes by the file's name alone finds nothing in a text.
var replaced = map[string]bool{
	"private-key": true, "kubernetes-secret-yaml": true, "pkcs12-file": true, "hashicorp-tf-password": true,
}

// nearer are keywords for rules whose own do not stand where a match begins, or say too little: any commit's hash is near the
// word sourcegraph as often as not.
var nearer = map[string][]string{
	"lob-api-key":                 {"lob"},
	"lob-pub-api-key":             {"lob"},
	"new-relic-browser-api-token": {"new-relic", "newrelic", "new_relic"},
	"new-relic-insert-key":        {"new-relic", "newrelic", "new_relic"},
	"new-relic-user-api-key":      {"new-relic", "newrelic", "new_relic"},
	"typeform-api-token":          {"typeform"},
	"sourcegraph-access-token":    {"sgp_"},
}

// settings is gitleaks' configuration file, as far as it matters to a text.
type settings struct {
	AllowList allowSettings `toml:"allowlist"`
	Rules     []struct {
		ID          string
		Regex       string
		SecretGroup int
		Entropy     float64
		Keywords    []string
		AllowLists  []allowSettings
	}
}

type allowSettings struct {
	Condition   string
	Paths       []string
	RegexTarget string
	Regexes     []string
	StopWords   []string
}

func newLibrary(text string) (*library, error) {
	var s settings
	if err := toml.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("read the rules for secrets: %w", err)
	}
	l := &library{allowed: newAllowlist(s.AllowList)}
	for _, r := range s.Rules {
		if replaced[r.ID] {
			continue
		}
		if len(r.Keywords) == 0 || r.Regex == "" {
			return nil, fmt.Errorf("read the rules for secrets: the rule %s has no keywords or no expression", r.ID)
		}
		made := &rule{id: r.ID, expr: r.Regex, group: r.SecretGroup, entropy: r.Entropy, global: &l.allowed}
		keywords := r.Keywords
		if better, ok := nearer[r.ID]; ok {
			keywords = better
		}
		for _, k := range keywords {
			made.keywords = append(made.keywords, strings.ToLower(k))
		}
		for _, a := range r.AllowLists {
			made.allowed = append(made.allowed, newAllowlist(a))
		}
		if r.ID == "generic-api-key" {
			made.accept = telling
		}
		l.detectors = append(l.detectors, detector{keywords: made.keywords, rule: made})
	}
	if len(l.detectors) == 0 {
		return nil, errors.New("read the rules for secrets: there are none")
	}
	l.detectors = append(l.detectors, own()...)
	l.index()
	return l, nil
}

// own are the detectors that gitleaks lacks.
func own() []detector {
	return []detector{
		{keywords: assignedKeywords, find: assignment},
		{keywords: []string{"://"}, find: addressPassword},
		{keywords: []string{"@tcp(", "@unix("}, find: mysqlPassword},
		{keywords: []string{"-----begin", "---- begin"}, find: privateKeyBegin},
		{keywords: []string{"-----end"}, find: privateKeyEnd},
		{keywords: []string{"bearer ", "basic "}, find: authorization},
		{keywords: []string{"sig="}, find: sharedSignature},
		{keywords: []string{"kind: secret", "kind: \"secret\""}, sweep: kubernetesSecret},
	}
}

// index makes the automaton of all keywords.
func (l *library) index() {
	numbers := map[string]int{}
	var words []string
	for d, det := range l.detectors {
		for _, k := range det.keywords {
			n, ok := numbers[k]
			if !ok {
				n = len(words)
				numbers[k] = n
				words = append(words, k)
				l.byKeyword = append(l.byKeyword, nil)
			}
			l.byKeyword[n] = append(l.byKeyword[n], d)
		}
	}
	l.keywords = newAutomaton(words)
	for _, w := range words {
		l.length = append(l.length, len(w))
	}
}

// scan adds what the detectors find in text.
func (l *library) scan(text string, found []Span) []Span {
	var done []int // by detector: up to where a rule has looked
	l.keywords.each(text, func(keyword, end int) {
		start := end - l.length[keyword]
		for _, d := range l.byKeyword[keyword] {
			det := &l.detectors[d]
			if det.find != nil {
				found = det.find(text, start, end, found)
				continue
			}
			if done == nil {
				done = make([]int, len(l.detectors))
			}
			switch {
			case det.rule != nil:
				found, done[d] = det.rule.find(text, start, end, done[d], found)
			case start >= done[d]:
				found, done[d] = det.sweep(text, start, end, found)
			}
		}
	})
	return found
}

// generic tells whether gitleaks' rule for telling names takes value for a secret when it is assigned to name.
func (l *library) generic(name, value string) bool {
	line := name + " = \"" + value + "\""
	return slices.ContainsFunc(l.scan(line, nil), func(s Span) bool {
		return s.Start == len(name)+4 && s.End == len(line)-1 // all of the value, and so because of the name
	})
}
