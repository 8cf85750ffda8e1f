package guard

import (
	"fmt"
	"strings"

	"github.com/wherry-acp/wherry/agent/guard/detect"
)

// Counts says how many there are of each kind.
type Counts map[detect.Kind]int

// Report says what [Guard.Outgoing] did, in numbers only.
type Report struct {
	Replaced Counts // values that were replaced for the first time in the session
	Places   Counts // all places in this request where something was replaced
	Images   int    // pictures that were sent without a look into them
	Sounds   int    // sounds that were sent without a look into them
}

// Notice tells the person what was replaced for the first time, such as "2 e-mail addresses and 1 secret were replaced before
// the model saw them."; empty if nothing was.
func (r Report) Notice() string {
	n := 0
	for _, count := range r.Replaced {
		n += count
	}
	switch n {
	case 0:
		return ""
	case 1:
		return r.Replaced.String() + " was replaced before the model saw it."
	}
	return r.Replaced.String() + " were replaced before the model saw them."
}

// words are the kinds in singular and plural.
func words(k detect.Kind) (one, many string) {
	switch k {
	case detect.Secret:
		return "secret", "secrets"
	case detect.Email:
		return "e-mail address", "e-mail addresses"
	case detect.Phone:
		return "phone number", "phone numbers"
	case detect.Card:
		return "card number", "card numbers"
	case detect.IBAN:
		return "bank account number", "bank account numbers"
	case detect.SSN:
		return "social security number", "social security numbers"
	case detect.IP:
		return "IP address", "IP addresses"
	}
	return "name", "names"
}

// String is the counts in words: "2 e-mail addresses and 1 secret".
func (c Counts) String() string {
	var all []string
	for _, kind := range []detect.Kind{
		detect.Name, detect.Email, detect.Phone, detect.Card, detect.IBAN, detect.SSN, detect.IP, detect.Secret,
	} {
		one, many := words(kind)
		switch n := c[kind]; n {
		case 0:
		case 1:
			all = append(all, "1 "+one)
		default:
			all = append(all, fmt.Sprintf("%d %s", n, many))
		}
	}
	return enumerate(all)
}

// enumerate joins words as a sentence does.
func enumerate(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

// Found says where in a request something was found, and how much.
type Found struct {
	What    string // such as "the prompt" or "the result of view"
	Tool    string // the tool whose call, result or description it is; empty for others
	Message int    // which message of the request, counted from 1; 0 for the system prompt and descriptions
	Counts  Counts
}

// RefusedError says that a request was not sent because of the personal data in it.
type RefusedError struct {
	Found []Found
}

// mostPlaces bounds how many places a refusal names.
const mostPlaces = 4

// Error is a sentence for the person. It has no values.
func (e *RefusedError) Error() string {
	var all []string
	for i, f := range e.Found {
		if i == mostPlaces {
			all = append(all, fmt.Sprintf("%d more places", len(e.Found)-i))
			break
		}
		where := f.What
		if f.Message > 0 {
			where += fmt.Sprintf(" (message %d)", f.Message)
		}
		all = append(all, f.Counts.String()+" in "+where)
	}
	return "the request was not sent to the model, because personal data is refused: " + enumerate(all) +
		". Leave it out, in a new session if it is in an earlier message, or set pii to redact"
}
