package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

// PII says what is done about personal data.
type PII string

// The choices for personal data.
const (
	PIIOff    PII = "off"    // it is sent as it is; also the meaning of ""
	PIIRedact PII = "redact" // it is sent with placeholders in its place
	PIIRefuse PII = "refuse" // a request that holds any is not sent
)

// Secrets says what is done about passwords, keys and tokens.
type Secrets string

// The choices for secrets.
const (
	SecretsRedact Secrets = "redact" // they are sent with placeholders in their place; also the meaning of ""
	SecretsOff    Secrets = "off"    // they are sent as they are
)

// Policy says what may be sent to a model. The zero value replaces secrets and leaves personal data alone.
type Policy struct {
	PII     PII      `toml:"pii"`
	Names   []string `toml:"names"` // of people and companies that count as personal data, as whole words in any case
	Secrets Secrets  `toml:"secrets"`

	// SecretPath tells whether a file of this path usually holds secrets. What a line such as "path:12: text" quotes of
	// one, as searches print it, is taken for a secret as a whole. It is called concurrently; nil means that no path is.
	// To let a file through that the person has allowed, answer false for it.
	SecretPath func(path string) bool `toml:"-"`

	broken error // why the policy is not known
}

// The bounds of a policy.
const (
	largestFile = 1 << 20 // bytes
	mostNames   = 10_000
	longestName = 200 // bytes
)

// Load reads a policy from a TOML file with the members pii, names and secrets. When the file cannot be read, or says
// something that is not understood, a guard with the returned policy refuses everything: what it would have said is not
// known. [Policy.Err] tells. A file that does not exist cannot be read either.
func Load(file string) Policy {
	p, err := load(file)
	if err != nil {
		return Policy{broken: err}
	}
	return p
}

func load(file string) (p Policy, err error) {
	f, err := os.Open(file)
	if err != nil {
		return p, fmt.Errorf("read the policy: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read from
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return p, fmt.Errorf("read the policy %s: it is not a plain file", file)
	}
	text, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	switch {
	case err != nil:
		return p, fmt.Errorf("read the policy: %w", err)
	case len(text) > largestFile:
		return p, fmt.Errorf("read the policy %s: it is larger than %d bytes", file, largestFile)
	}
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&p); err != nil {
		return p, fmt.Errorf("read the policy %s: %w", file, explain(err))
	}
	if err := p.check(); err != nil {
		return p, fmt.Errorf("read the policy %s: %w", file, err)
	}
	return p, nil
}

// explain says where a file is wrong, without what it says there.
func explain(err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		row, _ := unknown.Errors[0].Position()
		return fmt.Errorf("line %d: %s is not known; there are pii, names and secrets", row, strings.Join(unknown.Errors[0].Key(), "."))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		row, _ := wrong.Position()
		return fmt.Errorf("line %d: %w", row, err)
	}
	return err
}

// secrets tells whether secrets are looked for.
func (p Policy) secrets() bool { return p.Secrets != SecretsOff }

// personal tells whether personal data is looked for.
func (p Policy) personal() bool { return p.PII == PIIRedact || p.PII == PIIRefuse }

// Err tells why the policy is not known, or what is wrong with it; nil if it can be used.
func (p Policy) Err() error {
	if p.broken != nil {
		return p.broken
	}
	return p.check()
}

func (p Policy) check() error {
	switch p.PII {
	case "", PIIOff, PIIRedact, PIIRefuse:
	default:
		return fmt.Errorf("pii is %q; it can be off, redact or refuse", p.PII)
	}
	switch p.Secrets {
	case "", SecretsRedact, SecretsOff:
	default:
		return fmt.Errorf("secrets is %q; it can be redact or off", p.Secrets)
	}
	if len(p.Names) > mostNames {
		return fmt.Errorf("there are %d names; there can be %d", len(p.Names), mostNames)
	}
	for i, name := range p.Names {
		letters := 0
		for _, c := range name {
			if unicode.IsLetter(c) || unicode.IsDigit(c) {
				letters++
			}
		}
		if letters < 2 || len(name) > longestName {
			return fmt.Errorf("name number %d is not one: a name has at least two letters and at most %d bytes", i+1, longestName)
		}
	}
	return nil
}
