// Package detect finds secrets and personal data in texts. It knows nothing of requests, sessions or policies: a text goes
// in, spans come out.
package detect

import (
	"cmp"
	"slices"
)

// Kind says what a span holds.
type Kind string

// The kinds.
const (
	Secret Kind = "SECRET"
	Email  Kind = "EMAIL"
	Phone  Kind = "PHONE"
	Card   Kind = "CARD"
	IBAN   Kind = "IBAN"
	SSN    Kind = "SSN"
	IP     Kind = "IP"
	Name   Kind = "NAME"
)

// Kinds are all kinds, the most telling first: where spans overlap, the first one names the whole.
func Kinds() []Kind { return []Kind{Secret, Card, IBAN, SSN, Email, Phone, IP, Name} }

// Personal tells whether k is personal data; what is not is a secret.
func (k Kind) Personal() bool { return k != Secret }

// Span is a place in a text: the bytes from Start up to End, not empty.
type Span struct {
	Start, End int
	Kind       Kind
	Rule       string // which detector found it, for diagnosis
}

// Options say what a [Scanner] looks for.
type Options struct {
	Secrets  bool
	Personal bool
	Names    []string // of people, companies and the like: found as whole words, whatever their case; only with Personal
	// SecretPath tells whether a file of this path usually holds secrets. What a line such as "path:12: text" quotes of
	// one is a secret as a whole. It is called concurrently. Nil means that no path is.
	SecretPath func(path string) bool
}

// Scanner finds what its options name. It is safe for concurrent use.
type Scanner struct {
	secrets    *library
	personal   bool
	names      *nameFinder
	secretPath func(string) bool
}

// New gives a scanner. The rules for secrets are read once a process and compiled when first needed; an error means
// that they cannot be read, and so that nothing can be said about any text.
func New(o Options) (*Scanner, error) {
	s := &Scanner{personal: o.Personal, secretPath: o.SecretPath}
	if o.Secrets {
		l, err := standard()
		if err != nil {
			return nil, err
		}
		s.secrets = l
	}
	if o.Personal {
		s.names = newNameFinder(o.Names)
	}
	return s, nil
}

// Scan gives the spans of a text in order, none overlapping another. The time it takes grows with the length of the text.
func (s *Scanner) Scan(text string) []Span {
	var found []Span
	if s.secrets != nil {
		found = s.secrets.scan(text, found)
		if s.secretPath != nil {
			found = quotedFiles(text, s.secretPath, found)
		}
	}
	if s.personal {
		found = personal(text, found)
		found = s.names.find(text, found)
	}
	return merge(found)
}

// Assigned tells whether value is a secret because of the name that it is assigned to, as in {"password": "…"}.
func (s *Scanner) Assigned(name, value string) bool {
	if s.secrets == nil || len(name) > longestName || len(value) > longestValue {
		return false
	}
	return isAssigned(name, value) || s.secrets.generic(name, value)
}

// merge sorts spans and unites those that overlap; the union has the most telling kind.
func merge(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(rank(a.Kind), rank(b.Kind)))
	})
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if s.Start >= last.End {
			out = append(out, s)
			continue
		}
		last.End = max(last.End, s.End)
		if rank(s.Kind) < rank(last.Kind) {
			last.Kind, last.Rule = s.Kind, s.Rule
		}
	}
	return out
}

func rank(k Kind) int { return slices.Index(Kinds(), k) }
