package offline

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// helpText lists the grammar. The tests parse every example in it.
const helpText = "I am wherry's offline model: no network, no key, no language model. I do plain instructions, one a line or joined with *then*:\n\n" +
	"- `read FILE` · `read FILE 10-20`\n" +
	"- `list` · `list FOLDER`\n" +
	"- `find PATTERN`: part of a path, or a glob such as `**/*.go`\n" +
	"- `search TEXT` · `search \"TEXT\" in PATH` · `search regex \"RE\"`\n" +
	"- `create FILE: text`: the text may begin on the next line and run to the end, or stand in a fenced block\n" +
	"- `overwrite FILE: text`\n" +
	"- `replace \"old\" with \"new\" in FILE`: also `… and \"c\" with \"d\" in FILE`, and `replace all …`\n" +
	"- `append \"text\" to FILE`\n" +
	"- `run COMMAND`\n" +
	"- `plan: first; second; third`, then `next`, `do`, `done 2`, `plan`\n" +
	"- `help`\n\n" +
	"In quotes, `\\n` is a line break, unless the file has it written so. A list that begins with a plan ticks its tasks off as it goes.\n\n" +
	"Anything else I take as a question about this folder: I search it and quote what fits best, with file and line. " +
	"*Where is X defined? What calls X? What does this project do? How do I run the tests?*\n\n" + configure

const configure = "For a real language model set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY`, or start wherry with `--model ollama/NAME`.\n"

const greeting = "I am wherry's offline model. I am not a language model: I answer questions about this folder by searching and quoting it, " +
	"and I carry out plain instructions such as `read README.md` or `run go test ./...`; `help` lists them.\n\n" + configure

const blindness = "I cannot look at pictures, sounds or binary files: I work with text alone. Ask about this folder in words; `help` lists what I can do.\n"

// block quotes lines of a file in a fence.
func block(path string, lines []string) string { return blockIn(language(path), lines) }

// blockIn quotes lines in a fence that is longer than any run of backticks in them.
func blockIn(lang string, lines []string) string {
	run := 2
	for _, line := range lines {
		for rest := line; ; {
			at := strings.IndexByte(rest, '`')
			if at < 0 {
				break
			}
			n := len(rest[at:]) - len(strings.TrimLeft(rest[at:], "`"))
			run = max(run, n)
			rest = rest[at+n:]
		}
	}
	fence := strings.Repeat("`", run+1)
	return fence + lang + "\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

// language is the name that highlighters give to a file's language.
func language(file string) string {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(base(file)), "."))
	switch ext {
	case "py":
		return "python"
	case "rs":
		return "rust"
	case "md", "markdown":
		return "markdown"
	case "yml":
		return "yaml"
	case "sh", "bash":
		return "bash"
	case "mk":
		return "makefile"
	case "go", "ts", "tsx", "js", "jsx", "json", "toml", "yaml", "java", "c", "h", "cpp", "rb", "php", "cs", "kt", "swift", "sql", "html", "css", "lua", "zig":
		return ext
	}
	if strings.EqualFold(base(file), "makefile") {
		return "makefile"
	}
	return ""
}

// code shows text inside a line.
func code(s string) string {
	s = clip(s, 60)
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// sentence makes a result's text a sentence. It must not begin with a file's name: that keeps its spelling.
func sentence(s string) string { return upperFirst(ended(s)) }

// wrote says what a create call did: the tool calls a file created that was there and is replaced.
func wrote(result string, there bool) string {
	head, _ := firstLine(result)
	if what, ok := strings.CutPrefix(head, "created "); ok && there {
		head = "overwrote " + what
	}
	return sentence(head)
}

// ended ends a result's text like a sentence. It may begin with a path, and so keeps its case.
func ended(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "there was no answer."
	}
	if r, _ := utf8.DecodeLastRuneInString(s); !strings.ContainsRune(".!?…:`", r) {
		s += "."
	}
	return s
}

func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// numbers joins line numbers, at most eight of them.
func numbers(list []int) string {
	var out []string
	for i, n := range list {
		if i == 8 {
			out = append(out, "…")
			break
		}
		out = append(out, fmt.Sprint(n))
	}
	return strings.Join(out, ", ")
}
