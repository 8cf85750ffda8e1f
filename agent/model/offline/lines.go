package offline

import (
	"path"
	"regexp"
	"strings"
)

// What a line, and what a file is, as far as its spelling tells.

// How strongly a line defines a name.
const (
	defNone   = 0.0
	defLocal  = 0.2 // a variable of a function
	defWeak   = 0.6 // an assignment, a field, a key
	defStrong = 1.0 // a declaration with its keyword, a heading
)

var (
	declaration = lazy(`^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|static|public|private|protected|internal|abstract|final|sealed|partial|unsafe|extern|override|open|data|inline|virtual|readonly)\s+)*` +
		`(?:func|function\*?|fn|fun|def|class|type|interface|struct|enum|trait|const|let|var|val|module|namespace|macro_rules!|record|protocol|object)\s+(?:\([^)]*\)\s*)?\*?(?:mut\s+)?([\pL_$][\pL\pN_$]*)`)
	method     = lazy(`^\s*(?:(?:public|private|protected|internal|static|final|virtual|override|async)\s+)+[\w<>\[\], .?*&]*?\b([\pL_]\w*)\s*\(`)
	cFunction  = lazy(`^[A-Za-z_][\w\s*]*[\s*]([A-Za-z_]\w*)\s*\([^;{]*\)\s*\{?\s*$`)
	assignment = lazy(`^\s*(?:self\.|this\.|export\s+)?([\pL_$][\pL\pN_$.-]*)(?:\s*:\s*[\w.\[\]<>| ]+|\s+[\w.*\[\]]+)?\s*(?::=|\?=|\+=|=)\s*[^=\s]`)
	local      = lazy(`^\s+(?:[\w, ]+:=|(?:const|let|var) |\w+\s*=\s)`)
	keyLine    = lazy(`^\s*(?:- )?["']?([\pL_$][\pL\pN_$./-]*)["']?\s*:(?:\s|$)`)
	goField    = lazy(`^\t+([\pL_]\w*(?:, [\pL_]\w*)*)\s+[\w.*\[\](){}<-]+(?:\s+` + "`" + `.*)?(?:\s*//.*)?$`)
	goMethod   = lazy(`^\t+([\pL_]\w*)\([^)]*\)[^{]*$`)
	goMember   = lazy(`^\t+([A-Z]\w*)(?:\s*//.*)?$`)
	define     = lazy(`^\s*#\s*define\s+(\w+)`)
	mdHeading  = lazy(`^\s{0,3}(#{1,6}|=+)\s+(\S.*)$`)
	comment    = lazy(`^\s*(?://|#|--|/\*|\*|;;|"""|'''|<!--)`)
	keywords   = lazySet(`return if else for while switch case go defer import package from break continue range select yield await throw raise assert new delete in is not and or elif except try with print`)
)

// defines gives the name that a line of a file defines, and how strongly.
func defines(file, line string) (name string, strength float64) {
	if docFile(file) {
		if m := mdHeading().FindStringSubmatch(line); m != nil {
			return m[2], defStrong
		}
		return "", defNone
	}
	if m := define().FindStringSubmatch(line); m != nil {
		return m[1], defStrong
	}
	if comment().MatchString(line) {
		return "", defNone
	}
	strong := []*regexp.Regexp{declaration(), method()}
	weak := []*regexp.Regexp{assignment(), keyLine()}
	switch strings.ToLower(path.Ext(base(file))) {
	case ".c", ".h", ".cc", ".cpp", ".hpp":
		strong = append(strong, cFunction())
	case ".go":
		weak = append(weak, goField(), goMethod(), goMember())
	}
	for _, re := range strong {
		if m := re.FindStringSubmatch(line); m != nil && !keywords()[m[1]] {
			if local().MatchString(line) {
				return m[1], defLocal
			}
			return m[1], defStrong
		}
	}
	for _, re := range weak {
		if m := re.FindStringSubmatch(line); m != nil && !keywords()[m[1]] && !keywords()[strings.Fields(line)[0]] {
			if local().MatchString(line) {
				return m[1], defLocal
			}
			return m[1], defWeak
		}
	}
	return "", defNone
}

var importLine = lazy(`^\s*(?:import\b|from\s+\S+\s+import\b|use\s|#\s*include\b|require\b|(?:const|let|var)\s+.*=\s*require\(|"[\w./-]+"$)`)

// The sorts of file that rank lower or higher than code.
var (
	testFile      = lazy(`(?i)(?:^|/)(?:tests?|testdata|__tests__|spec|fixtures?|e2e|__snapshots__)/|_test\.\w+$|(?:^|/)test_[^/]*$|\.(?:test|spec)\.\w+$|(?:^|/)conftest\.py$`)
	vendorFile    = lazy(`(?i)(?:^|/)(?:vendor|node_modules|third_party|dist|build|target|\.venv|site-packages|\.git|coverage)/`)
	lockFile      = lazy(`(?i)(?:^|/)(?:go\.sum|package-lock\.json|yarn\.lock|pnpm-lock\.yaml|cargo\.lock|poetry\.lock|uv\.lock|composer\.lock|gemfile\.lock)$|\.min\.(?:js|css)$|\.(?:map|svg|snap|lock)$`)
	generatedFile = lazy(`(?i)_gen\.\w+$|\.gen\.\w+$|\.pb\.go$|_pb2\.pyi?$|_generated\.\w+$|(?:^|/)(?:generated|gen)/|zz_generated`)
	dataFile      = lazy(`(?i)\.(?:json|jsonl|csv|tsv|xml|txt|golden|log|ipynb|html|txtar)$`)
	manifestFile  = lazy(`(?i)(?:^|/)(?:package\.json|tsconfig\.json|composer\.json|deno\.json|cmakelists\.txt|requirements[^/]*\.txt)$`)
	changeLog     = lazy(`(?i)(?:^|/)(?:change(?:s|log)|history|news|releases?)(?:\.\w+)?$`)
	exampleFile   = lazy(`(?i)(?:^|/)(?:_?examples?|samples?|demos?|benchmarks?)/|example_[^/]*$`)
	docEnding     = lazy(`(?i)\.(?:md|mdx|markdown|rst|adoc|asciidoc|org)$|(?:^|/)(?:readme|contributing|install|usage|faq)(?:\.txt)?$`)
)

func docFile(p string) bool { return docEnding().MatchString(p) }

// fileFactor is how much a line counts because of the file it is in.
func fileFactor(p string, kind asking, tests bool) float64 {
	f := 1.0
	switch {
	case vendorFile().MatchString(p), lockFile().MatchString(p):
		return 0.15
	case generatedFile().MatchString(p):
		f = 0.35
	case testFile().MatchString(p):
		f = 0.5
		if tests {
			f = 1
		}
	case changeLog().MatchString(p):
		f = 0.4
	case exampleFile().MatchString(p):
		f = 0.7
	case docFile(p):
		switch kind {
		case askingHow:
			f = 1.5
		case askingWhat:
			f = 1
		case askingWhere, askingCalls:
			f = 0.5
		default:
			f = 0.75
		}
	case manifestFile().MatchString(p):
	case dataFile().MatchString(p):
		f = 0.4
	case kind == askingHow:
		f = 0.8
	}
	// A project's own subject is near its root.
	return f * (1 - 0.02*float64(min(strings.Count(p, "/"), 6)))
}
