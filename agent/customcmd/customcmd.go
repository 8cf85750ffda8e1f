// Package customcmd reads slash commands of people's own: Markdown files, each a prompt with a name. It only reads; what
// is done with a command, and whose files are read at all, is its caller's to decide.
package customcmd

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wherry-acp/wherry/agent/approval"
)

// What a folder of commands may hold.
const (
	MaxFiles = 200
	MaxBytes = 64 << 10 // of one file
)

// maxLine bounds a description and a hint, in characters.
const maxLine = 200

// File is a Markdown file.
type File struct {
	Path string // as a person knows it, with slashes; its last part gives the command its name
	Data []byte
}

// Command is a prompt with a name.
type Command struct {
	Name        string // without the slash
	Description string
	Hint        string // what may follow the name; empty when nothing is expected
	// Mode is the mode that the command asks for where it is stricter than the session's; empty for none.
	Mode approval.Mode
	Body string
	Path string // of its file
}

// Problem is a file that is no command, or is one and has something in it that does nothing.
type Problem struct {
	Path string
	Text string // a clause
}

// String is the problem as a person reads it.
func (p Problem) String() string { return p.Path + ": " + p.Text }

// validName is what can be typed after a slash: as the built-in commands are named.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Set is the commands of several folders.
type Set struct {
	Commands []Command // by name
	Problems []Problem
}

// Parse reads the files. Of two commands with one name the first is kept, and one that is reserved is left out; both are
// told.
func Parse(files []File, reserved func(name string) bool) Set {
	var s Set
	for _, f := range files {
		c, problems, ok := parse(f)
		s.Problems = append(s.Problems, problems...)
		if !ok {
			continue
		}
		same := slices.IndexFunc(s.Commands, func(have Command) bool { return have.Name == c.Name })
		switch {
		case reserved(c.Name):
			s.Problems = append(s.Problems, Problem{f.Path, fmt.Sprintf("/%s is a command of wherry itself: give the file another name", c.Name)})
		case same >= 0:
			s.Problems = append(s.Problems, Problem{f.Path, fmt.Sprintf("/%s is %s already: give one of them another name", c.Name, s.Commands[same].Path)})
		default:
			s.Commands = append(s.Commands, c)
		}
	}
	slices.SortFunc(s.Commands, func(a, b Command) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func parse(f File) (Command, []Problem, bool) {
	c := Command{Name: strings.TrimSuffix(path.Base(f.Path), ".md"), Path: f.Path}
	problem := func(format string, args ...any) []Problem { return []Problem{{f.Path, fmt.Sprintf(format, args...)}} }
	switch {
	case !validName.MatchString(c.Name):
		return c, problem("%q cannot be a command: name the file with small letters, digits, - and _, such as review.md", c.Name), false
	case len(f.Data) > MaxBytes:
		return c, problem("is larger than %d KiB", MaxBytes>>10), false
	case !utf8.Valid(f.Data):
		return c, problem("is not text in UTF-8"), false
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(f.Data), "\ufeff"), "\r\n", "\n")
	head, body, closed := frontMatter(text)
	if !closed {
		return c, problem("begins with --- and has no second line of --- that ends the head"), false
	}
	problems := c.head(head)
	if c.Body = strings.TrimSpace(body); c.Body == "" {
		return c, append(problems, problem("says nothing")...), false
	}
	if c.Description == "" {
		first, _, _ := strings.Cut(c.Body, "\n")
		c.Description = oneLine(strings.TrimLeft(first, "# "))
	}
	takes := slices.ContainsFunc(placeholder.FindAllString(c.Body, -1), func(found string) bool {
		_, ok := slot(found)
		return ok
	})
	if c.Hint == "" && takes {
		c.Hint = "ARGUMENTS"
	}
	return c, problems, true
}

// frontMatter cuts the head off a text that begins with a line of ---.
func frontMatter(text string) (head, body string, closed bool) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text, true
	}
	if rest, ok := strings.CutPrefix(rest, "---\n"); ok {
		return "", rest, true
	}
	head, body, closed = strings.Cut(rest, "\n---\n")
	if !closed {
		head, closed = strings.CutSuffix(rest, "\n---")
	}
	return head, body, closed
}

// head reads the lines "key: value" of the front matter.
func (c *Command) head(text string) []Problem {
	var problems []Problem
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), unquoted(strings.TrimSpace(value))
		tell := func(format string, args ...any) {
			problems = append(problems, Problem{c.Path, fmt.Sprintf(format, args...)})
		}
		switch {
		case !ok:
			tell("%q in the head is no line \"key: value\", and does nothing", oneLine(line))
		case key == "description":
			c.Description = oneLine(value)
		case key == "argument-hint":
			c.Hint = oneLine(value)
		case key == "mode" && (value == string(approval.ModeOff) || value == string(approval.ModeAsk)):
			c.Mode = approval.Mode(value)
		case key == "mode":
			c.Mode = approval.ModeOff
			tell("mode can be off or ask, not %q: a command makes things stricter only, so this one runs in mode off", oneLine(value))
		default:
			tell("%s in the head does nothing: there are description, argument-hint and mode", oneLine(key))
		}
	}
	return problems
}

// unquoted takes the quotes off that other programs need.
func unquoted(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		if value[0] == '"' {
			if plain, err := strconv.Unquote(value); err == nil {
				return plain
			}
		}
		return value[1 : n-1]
	}
	return value
}

// oneLine is a text without line breaks and control characters, at most maxLine characters of it.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029'
	}), " ")
	if utf8.RuneCountInString(text) > maxLine {
		text = string([]rune(text)[:maxLine-1]) + "…"
	}
	return text
}

// placeholder is what arguments are put in place of; \$1 is the text $1.
var placeholder = regexp.MustCompile(`\\?\$(ARGUMENTS\b|[0-9]+)`)

// slot tells which word is put in place of what was found, 0 for all of them, and whether any is.
func slot(found string) (word int, ok bool) {
	if found == "$ARGUMENTS" {
		return 0, true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(found, "$"))
	return n, err == nil && 1 <= n && n <= 9 // anything else is an amount of money
}

// Expand gives the prompt for these arguments. $ARGUMENTS is all of them, $1 to $9 are their words, where quotes keep words
// together. Arguments that the body has no place for come after it.
func (c Command) Expand(args string) string {
	args = strings.TrimSpace(args)
	var list []string
	used := false
	text := placeholder.ReplaceAllStringFunc(c.Body, func(found string) string {
		if rest, ok := strings.CutPrefix(found, `\`); ok {
			return rest
		}
		n, ok := slot(found)
		if !ok {
			return found
		}
		used = true
		if list == nil {
			list = words(args)
		}
		switch {
		case n == 0:
			return args
		case n > len(list):
			return ""
		}
		return list[n-1]
	})
	if !used && args != "" {
		text += "\n\n" + args
	}
	return text
}

// words splits arguments at spaces; quotes keep words together. A quote that is not closed is a character like any other.
func words(args string) []string {
	out := []string{}
	for {
		args = strings.TrimLeft(args, " \t\n")
		if args == "" {
			return out
		}
		if q := args[0]; q == '"' || q == '\'' {
			if end := strings.IndexByte(args[1:], q); end >= 0 {
				out, args = append(out, args[1:1+end]), args[2+end:]
				continue
			}
		}
		end := strings.IndexAny(args, " \t\n")
		if end < 0 {
			end = len(args)
		}
		out, args = append(out, args[:end]), args[end:]
	}
}
