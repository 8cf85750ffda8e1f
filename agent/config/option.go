package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
)

// value is what a layer says for a key: text for one value, list for several.
type value struct {
	text   string
	list   []string
	source Source
}

// kind is how a value is written in TOML.
type kind int

const (
	kindString kind = iota
	kindInteger
	kindFloat
	kindStrings
)

// option is a key with a plain value. Tables (providers, mcp) are not options.
type option struct {
	key     string
	kind    kind
	builtin string
	// apply checks the value and puts it into the settings.
	apply func(*Settings, value) error
	// tightens tells that changing from the old settings to the new ones makes things stricter. Nil: nothing does, so an
	// untrusted project has no say.
	tightens func(old, now *Settings) bool
	// strictest is the value that holds when a file cannot be read; "" leaves the option alone.
	strictest string
	show      func(*Settings) string
}

// Variable is the environment variable that sets the value of a key.
func Variable(key string) string {
	return "WHERRY_" + strings.ToUpper(strings.NewReplacer(".", "_").Replace(key))
}

// env is the variable that sets the option.
func (o option) env() string { return Variable(o.key) }

func findOption(key string) (option, bool) {
	for _, o := range options() {
		if o.key == key {
			return o, true
		}
	}
	return option{}, false
}

// options are all of them, in the order in which they are listed.
func options() []option {
	return []option{
		{
			key:   "model",
			apply: text(func(s *Settings) *string { return &s.Model }, checkModel),
			show:  func(s *Settings) string { return s.Model },
		},
		{
			key: "mode", builtin: string(approval.ModeAsk), strictest: string(approval.ModeOff),
			apply: func(s *Settings, v value) error {
				if !approval.Mode(v.text).Valid() {
					return oneOf(v.text, names(approval.Modes()))
				}
				s.Mode = approval.Mode(v.text)
				return nil
			},
			tightens: func(old, now *Settings) bool {
				return slices.Index(approval.Modes(), now.Mode) <= slices.Index(approval.Modes(), old.Mode)
			},
			show: func(s *Settings) string { return string(s.Mode) },
		},
		{
			key:   "thought",
			apply: text(func(s *Settings) *string { return &s.Thought }, checkThought),
			show:  func(s *Settings) string { return s.Thought },
		},
		{
			key: "titles", builtin: string(TitlesModel),
			apply: func(s *Settings, v value) error {
				choices := []Titles{TitlesModel, TitlesPrompt}
				if !slices.Contains(choices, Titles(v.text)) {
					return oneOf(v.text, names(choices))
				}
				s.Titles = Titles(v.text)
				return nil
			},
			tightens: func(_, now *Settings) bool { return now.Titles == TitlesPrompt }, // nothing further is sent
			show:     func(s *Settings) string { return string(s.Titles) },
		},
		{
			key: "pii", builtin: string(PIIOff), strictest: string(PIIRefuse),
			apply: func(s *Settings, v value) error {
				if !slices.Contains(policies(), PII(v.text)) {
					return oneOf(v.text, names(policies()))
				}
				s.PII = PII(v.text)
				return nil
			},
			tightens: func(old, now *Settings) bool {
				return slices.Index(policies(), now.PII) <= slices.Index(policies(), old.PII)
			},
			show: func(s *Settings) string { return string(s.PII) },
		},
		{
			key: "pii_names", kind: kindStrings,
			apply: func(s *Settings, v value) error { // more names are stricter, so layers add up
				for _, name := range v.list {
					if strings.TrimSpace(name) == "" {
						return errors.New("a name is empty")
					}
					if !slices.Contains(s.PIINames, name) {
						s.PIINames = append(slices.Clip(s.PIINames), name)
					}
				}
				return nil
			},
			tightens: func(*Settings, *Settings) bool { return true },
			show:     func(s *Settings) string { return strings.Join(s.PIINames, ", ") },
		},
		{
			key: "secrets", builtin: string(SecretsRedact), strictest: string(SecretsRedact),
			apply: func(s *Settings, v value) error {
				choices := []Secrets{SecretsRedact, SecretsOff}
				if !slices.Contains(choices, Secrets(v.text)) {
					return oneOf(v.text, names(choices))
				}
				s.Secrets = Secrets(v.text)
				return nil
			},
			tightens: func(_, now *Settings) bool { return now.Secrets == SecretsRedact },
			show:     func(s *Settings) string { return string(s.Secrets) },
		},
		{
			key:   "log",
			apply: text(func(s *Settings) *string { return &s.Log }, checkPath),
			show:  func(s *Settings) string { return s.Log },
		},
		{
			key:   "wire_log",
			apply: text(func(s *Settings) *string { return &s.WireLog }, checkPath),
			show:  func(s *Settings) string { return s.WireLog },
		},
		{
			key: "roots", kind: kindStrings,
			apply: func(s *Settings, v value) error {
				for _, root := range v.list {
					if err := checkPath(root); err != nil {
						return err
					}
				}
				s.Roots = v.list
				return nil
			},
			show: func(s *Settings) string { return strings.Join(s.Roots, string(filepath.ListSeparator)) },
		},
		{
			key: "commands",
			apply: func(s *Settings, v value) error {
				if err := checkPath(v.text); err != nil {
					return err
				}
				if v.source.Layer == Project {
					s.ProjectCommands = v.text
					return nil
				}
				s.Commands = v.text
				return nil
			},
			show: func(s *Settings) string { return s.Commands },
		},
		{
			key: "ask_timeout", builtin: "5m",
			apply: func(s *Settings, v value) error {
				d, err := checkDuration(v.text, time.Second, 24*time.Hour)
				s.AskTimeout = d
				return err
			},
			tightens: func(old, now *Settings) bool { return now.AskTimeout <= old.AskTimeout },
			show:     func(s *Settings) string { return s.AskTimeout.String() },
		},
		{
			key: "budget.steps", kind: kindInteger, builtin: "100",
			apply:    integer(func(s *Settings) *int { return &s.Budget.Steps }, 1),
			tightens: func(old, now *Settings) bool { return now.Budget.Steps <= old.Budget.Steps },
			show:     func(s *Settings) string { return strconv.Itoa(s.Budget.Steps) },
		},
		{
			key: "budget.tokens", kind: kindInteger, builtin: "0",
			apply: integer(func(s *Settings) *int { return &s.Budget.Tokens }, 0),
			tightens: func(old, now *Settings) bool {
				return lower(float64(old.Budget.Tokens), float64(now.Budget.Tokens))
			},
			show: func(s *Settings) string { return limit(s.Budget.Tokens == 0, strconv.Itoa(s.Budget.Tokens)) },
		},
		{
			key: "budget.cost", kind: kindFloat, builtin: "0",
			apply: func(s *Settings, v value) error {
				f, err := strconv.ParseFloat(v.text, 64)
				if err != nil || !(f >= 0 && f <= 1e9) { // written so that it refuses NaN too
					return fmt.Errorf("%q is not an amount of dollars; 0 means no limit", v.text)
				}
				s.Budget.Cost = f
				return nil
			},
			tightens: func(old, now *Settings) bool { return lower(old.Budget.Cost, now.Budget.Cost) },
			show: func(s *Settings) string {
				return limit(s.Budget.Cost == 0, strconv.FormatFloat(s.Budget.Cost, 'g', -1, 64)+" USD")
			},
		},
	}
}

func policies() []PII { return []PII{PIIRefuse, PIIRedact, PIIOff} }

// lower compares limits of which 0 means none.
func lower(old, now float64) bool { return old == 0 || now != 0 && now <= old }

func limit(none bool, text string) string {
	if none {
		return "no limit"
	}
	return text
}

func text(field func(*Settings) *string, check func(string) error) func(*Settings, value) error {
	return func(s *Settings, v value) error {
		if err := check(v.text); err != nil {
			return err
		}
		*field(s) = v.text
		return nil
	}
}

func integer(field func(*Settings) *int, least int) func(*Settings, value) error {
	return func(s *Settings, v value) error {
		n, err := strconv.Atoi(v.text)
		if err != nil || n < least {
			return fmt.Errorf("%q is not a whole number from %d", v.text, least)
		}
		*field(s) = n
		return nil
	}
}

func checkModel(id string) error {
	if id == "offline" {
		return nil
	}
	if prefix, name, ok := strings.Cut(id, "/"); !ok || prefix == "" || name == "" || strings.ContainsFunc(id, isControl) {
		return fmt.Errorf("%q does not name a model: write provider/name, for instance anthropic/claude-sonnet-5-5", id)
	}
	return nil
}

func checkThought(level string) error {
	levels := []string{"off", "low", "medium", "high"}
	if !slices.Contains(levels, level) {
		return oneOf(level, levels)
	}
	return nil
}

func checkPath(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is a relative path: write it from the root of the disk, or from your home with ~/", path)
	}
	return nil
}

func checkDuration(text string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return 0, fmt.Errorf("%q is not a time between %s and %s: write for instance 90s or 5m", text, least, most)
	}
	return d, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func oneOf(text string, words []string) error {
	return fmt.Errorf("%q is not one of %s%s", text, strings.Join(words, ", "), suggestion(text, words))
}

func names[T ~string](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, string(v))
	}
	return out
}
