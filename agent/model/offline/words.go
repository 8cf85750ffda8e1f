package offline

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// term is a word of a question that lines are measured by.
type term struct {
	text   string  // as it was asked for
	exact  bool    // an identifier or a quoted text, matched as it is written
	weight float64 // before rarity is known
	expr   string  // RE2 for the search tool: short, since a person reads it, and looser than the term where it must be
	alts   []string
	main   *regexp.Regexp // matches the word itself, in its forms
	any    *regexp.Regexp // matches the word or one of its alternatives
}

// Weights of terms. A word that programs are full of tells little.
const (
	weightExact   = 3.0
	weightWord    = 1.0
	weightGeneric = 0.5
	weightAlt     = 0.6 // of the word's weight, where only an alternative is there
)

// newExact makes a term of an identifier or quoted text.
func newExact(text string) term {
	expr := regexp.QuoteMeta(text)
	if asciiWord(text[0]) { // RE2 knows the borders of ASCII words only
		expr = `\b` + expr
	}
	if asciiWord(text[len(text)-1]) {
		expr += `\b`
	}
	re := regexp.MustCompile(expr)
	return term{text: text, exact: true, weight: weightExact, expr: expr, main: re, any: re}
}

// newWord makes a term of an ordinary word.
func newWord(word string) term {
	t := term{text: word, weight: weightWord}
	if generic[word] {
		t.weight = weightGeneric
	}
	root := stem(word)
	own := formsExpr(root)
	exprs, loose := []string{own}, []string{looseExpr(root)}
	for _, alt := range alternatives(word, root) {
		t.alts = append(t.alts, alt)
		exprs = append(exprs, formsExpr(stem(alt)))
		loose = append(loose, looseExpr(stem(alt)))
	}
	t.expr = strings.Join(loose, "|")
	t.main = regexp.MustCompile(own)
	t.any = regexp.MustCompile(strings.Join(exprs, "|"))
	return t
}

// looseExpr finds a stem when case is ignored.
func looseExpr(root string) string {
	if len(root) > 3 {
		return inflect(root)
	}
	return `\b` + regexp.QuoteMeta(root)
}

// formsExpr matches a stem the way programs spell words: message, Message, MESSAGE, in camelCase and snake_case. Long
// stems match anywhere; the shorter a stem, the more it needs the borders of a word around it.
func formsExpr(root string) string {
	q := regexp.QuoteMeta
	if len(root) >= 5 || strings.ContainsFunc(root, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return `(?i:` + inflect(root) + `)`
	}
	title := upperFirst(root)
	upper := strings.ToUpper(root)
	start := `(?:(?:\b|_)(?:` + q(root) + `|` + q(title) + `|` + q(upper) + `)|[a-z0-9](?:` + q(title) + `|` + q(upper) + `))`
	if len(root) == 4 {
		return start
	}
	return start + `(?:s?(?:\b|_)|s?[A-Z0-9])`
}

// inflect matches a stem; one in -y in its plural too.
func inflect(root string) string {
	if strings.HasSuffix(root, "y") && len(root) > 4 && !strings.ContainsRune("aeou", rune(root[len(root)-2])) {
		return regexp.QuoteMeta(root[:len(root)-1]) + `(?:y|ie)`
	}
	return regexp.QuoteMeta(root)
}

// stem cuts the usual endings off an English word. What is left is a prefix of the word's other forms.
func stem(w string) string {
	if len(w) <= 3 {
		return w
	}
	cut := func(suffix string, least int) bool {
		if strings.HasSuffix(w, suffix) && len(w)-len(suffix) >= least {
			w = w[:len(w)-len(suffix)]
			return true
		}
		return false
	}
	if cut("ies", 2) {
		w += "y"
	} else if !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") {
		switch {
		case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "xes"):
			cut("es", 3)
		default:
			cut("s", 3)
		}
	}
	switch {
	case cut("ization", 4), cut("isation", 4), cut("ation", 4):
	case cut("ing", 3), cut("ed", 3):
		if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
			w = w[:n-1] // running
		}
	default:
		if !cut("e", 5) {
			cut("ly", 4)
		}
	}
	return w
}

// groups are words that programs use for the same thing.
var groups = strings.Fields(`
	limit,max,maximum,cap maximum,max,limit minimum,min size,bytes,length,len length,len,size message,msg
	folder,dir,directory directory,dir,folder delete,remove,rm remove,delete create,new,make config,settings,options,conf
	configuration,config,settings,options setting,config,option,preference error,err,failure failure,error,err fail,error,err timeout,deadline
	start,begin,launch stop,close,shutdown,kill cancel,abort,interrupt password,passwd,secret environment,env variable,var
	command,cmd authentication,auth,login login,auth,signin database,db,sql permission,approval,access retry,backoff,attempt
	request,req response,resp,reply argument,arg,param parameter,param,arg initialise,init initialize,init temporary,tmp,temp
	number,num,count picture,image colour,color save,write,store load,read,open address,addr connection,conn
	identifier,id context,ctx pointer,ptr buffer,buf character,char,rune encode,marshal,serialize decode,unmarshal,parse
	parse,decode escape,quote user,person url,uri port,addr listen,serve,bind key,token concurrency,goroutine,thread,mutex
	lock,mutex wait,sleep,block repeat,loop,retry print,write,output rename,move ignore,skip,exclude`)

// alternatives gives the other words for one.
func alternatives(word, root string) []string {
	for _, g := range groups {
		words := strings.Split(g, ",")
		if words[0] == word || stem(words[0]) == root {
			return words[1:]
		}
	}
	return nil
}

// generic are words that lines of code are full of.
var generic = set(`file files get set data value values name names use code type types default call calls function functions
	method methods class read write string list line lines return object field number handle make work thing way part parts
	place places one two new time user path text content variable constant result option happen happens support show add added`)

// stop are words that carry no subject.
var stop = set(`a an the this that these those it its is are was were be been being am do does did doing done have has had having
	i me my we us our you your he she they them their who whom whose what which where when why how
	and or but if then else so than too very just only also not no nor of in on at by for from to into onto with without within
	about over under between through during before after above below up down out off again there here all any each every some
	such own same other both more most can could should would will shall may might must please tell explain describe show find
	search look give want need know like let see get got come goes go use used uses using way exactly actually currently
	project repo repository folder codebase program app package library code source s t ll re ve d m lot kind sort
	define defined defines definition declare declared declaration implement implemented implements implementation
	located location live lives stored mean means meaning work works working file files line lines function functions method
	methods call calls called caller callers class exist exists anything something everything thing things happen happens support supports supported`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// question is what was asked, taken apart.
type question struct {
	text  string
	kind  asking
	terms []term
	paths []string // files named in it
}

var (
	identifier = regexp.MustCompile(`^[\pL_$@][\pL\pN_$]*(?:(?:\.|::|->|#)[\pL_$][\pL\pN_$]*)*(?:\(\))?$`)
	flagWord   = regexp.MustCompile(`^--?[a-z][\w-]*$`)
	splitter   = regexp.MustCompile(`[^\pL\pN_$]+`)
)

// maxTerms bounds what one question searches for.
const maxTerms = 6

// readQuestion takes a question apart.
func readQuestion(text string) question {
	text = strings.ToValidUTF8(text, "")
	q := question{text: text, kind: askingKind(text)}
	text = bullet.ReplaceAllString(text, "")
	seen := map[string]bool{}
	add := func(t term) {
		key := strings.ToLower(t.text)
		if !t.exact {
			key = stem(key)
		}
		if !seen[key] {
			seen[key] = true
			q.terms = append(q.terms, t)
		}
	}
	var plain []string
	var leftOut []string // stop words, for a question of nothing else
	words, literals := takeQuoted(text)
	for _, l := range literals {
		if pathLike(l) && fileName(l) {
			q.paths = append(q.paths, l)
		} else {
			add(newExact(l))
		}
	}
	for i, w := range words {
		w = strings.Trim(w, ",;:!?\"'`()[]{}<>*“”‘’«»…")
		w = strings.TrimRight(w, ".")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		if strings.HasSuffix(w, "(") { // f() lost its parenthesis
			w = strings.TrimSuffix(w, "(")
		}
		switch {
		case w == "":
		case fileName(w):
			q.paths = append(q.paths, w)
		case flagWord.MatchString(w):
			add(newExact(w))
		case identifier.MatchString(w) && (looksNamed(w) || i > 0 && capitalised(w)):
			parts := nameParts(w)
			add(newExact(parts[len(parts)-1]))
			for _, p := range parts[:len(parts)-1] {
				plain = append(plain, strings.ToLower(p))
			}
		default:
			for _, p := range splitter.Split(w, -1) {
				p = strings.ToLower(p)
				if stop[p] {
					leftOut = append(leftOut, p)
				} else if p != "" {
					plain = append(plain, p)
				}
			}
		}
	}
	for i, p := range plain[:min(len(plain), 40)] {
		if utf8.RuneCountInString(p) < 2 || aboutKind(q.kind, p) {
			continue
		}
		t := newWord(p)
		if i > 0 && i == len(plain)-1 && q.kind != askingCalls && participle.MatchString(p) {
			t.weight = weightGeneric
		}
		add(t)
	}
	if q.kind == askingCalls && len(q.terms) == 1 && !q.terms[0].exact {
		q.terms[0] = newExact(q.terms[0].text)
	}
	if len(q.terms) == 0 && len(q.paths) == 0 {
		for _, p := range leftOut {
			if generic[p] && p != "file" && p != "files" && p != "line" && p != "lines" {
				add(newWord(p))
			}
		}
	}
	if len(q.terms) > maxTerms {
		slices.SortStableFunc(q.terms, func(a, b term) int {
			switch {
			case a.weight > b.weight:
				return -1
			case a.weight < b.weight:
				return 1
			}
			return 0
		})
		q.terms = q.terms[:maxTerms]
	}
	return q
}

// takeQuoted separates quoted texts from the words around them.
func takeQuoted(text string) (words, literals []string) {
	for text != "" {
		at := strings.IndexFunc(text, func(r rune) bool { _, ok := closer(r); return ok })
		if at < 0 {
			break
		}
		before := text[:at]
		lit, rest, ok := cutQuoted(text[at:])
		apostrophe := at > 0 && wordByte(text[at-1])
		if !ok || apostrophe || strings.TrimSpace(lit.raw) == "" || len(lit.raw) > 200 || strings.Contains(lit.raw, "\n") {
			end := at + len(string([]rune(text[at:])[:1]))
			words = append(words, strings.Fields(before)...)
			if apostrophe && len(words) > 0 { // the rest of the word: doesn't
				tail := text[end:]
				n := strings.IndexFunc(tail, unicode.IsSpace)
				if n < 0 {
					n = len(tail)
				}
				end += n
			}
			text = text[end:]
			continue
		}
		words = append(words, strings.Fields(before)...)
		literals = append(literals, strings.TrimSpace(lit.literal()))
		text = rest
	}
	return append(words, strings.Fields(text)...), literals
}

// looksNamed tells an identifier from a word: it has an underscore, a dot, parentheses, or a capital inside.
func looksNamed(w string) bool {
	if strings.ContainsAny(w, "_$().:>#") {
		return true
	}
	lower := false
	capitals := 0
	for i, r := range w {
		switch {
		case unicode.IsUpper(r):
			if lower {
				return true
			}
			if i > 0 {
				capitals++
			}
		case unicode.IsLower(r):
			if capitals > 1 { // HTTPServer
				return true
			}
			lower = true
		}
	}
	return false
}

// capitalised tells a name of one hump: Digest. Acronyms are words.
func capitalised(w string) bool {
	first, size := utf8.DecodeRuneInString(w)
	rest := w[size:]
	return unicode.IsUpper(first) && len(rest) > 1 && rest == strings.ToLower(rest) && !stop[strings.ToLower(w)]
}

// nameParts splits a qualified name: Session.Turn() is Session and Turn.
func nameParts(w string) []string {
	w = strings.TrimSuffix(w, "()")
	return strings.FieldsFunc(strings.ReplaceAll(w, "->", "."), func(r rune) bool {
		return r == '.' || r == ':' || r == '#' || r == '@'
	})
}

// humps splits an identifier into its words, in lower case: MaxMessageBytes, max_message_bytes.
func humps(name string) []string {
	var out []string
	var cur []rune
	flush := func() {
		if len(cur) > 1 {
			out = append(out, strings.ToLower(string(cur)))
		}
		cur = nil
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])):
			flush()
		}
		cur = append(cur, r)
	}
	flush()
	return out
}

// extensions are endings by which a word is taken for a file's name.
var extensions = set(`go mod sum py pyi ts tsx js jsx mjs cjs json toml yaml yml md rst txt adoc html css scss rs java kt c h cc cpp
	hpp cs rb php swift sh bash zsh sql proto lua zig ex exs erl hs ml scala clj r jl vue svelte xml ini cfg conf env lock mk
	gradle tf csv ipynb txtar golden log`)

// fileName tells whether a word names a file: limits.go, src/app.ts, ./cmd, Makefile.
func fileName(w string) bool {
	if strings.ContainsAny(w, " *?\"(){}") || strings.Contains(w, "://") {
		return false
	}
	dot := strings.LastIndexByte(w, '.')
	if dot > 0 && extensions[strings.ToLower(w[dot+1:])] {
		return true
	}
	if !strings.Contains(w, ".") && !strings.Contains(w, "/") {
		return pathLike(w)
	}
	return strings.Count(w, "/") >= 1 && !strings.HasPrefix(w, "/") && dot > strings.LastIndexByte(w, '/') || strings.HasPrefix(w, "./")
}
