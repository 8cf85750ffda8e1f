package offline

import (
	"regexp"
	"strings"
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
	if generic()[word] {
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
const groups = `
	limit,max,maximum,cap maximum,max,limit minimum,min size,bytes,length,len length,len,size message,msg
	folder,dir,directory directory,dir,folder delete,remove,rm remove,delete create,new,make config,settings,options,conf
	configuration,config,settings,options setting,config,option,preference error,err,failure failure,error,err fail,error,err timeout,deadline
	start,begin,launch stop,close,shutdown,kill cancel,abort,interrupt password,passwd,secret environment,env variable,var
	command,cmd authentication,auth,login login,auth,signin database,db,sql permission,approval,access retry,backoff,attempt
	request,req response,resp,reply argument,arg,param parameter,param,arg initialise,init initialize,init temporary,tmp,temp
	number,num,count picture,image colour,color save,write,store load,read,open address,addr connection,conn
	identifier,id context,ctx pointer,ptr buffer,buf character,char,rune encode,marshal,serialize decode,unmarshal,parse
	parse,decode escape,quote  url,uri port,addr listen,serve,bind key,token concurrency,goroutine,thread,mutex
	lock,mutex wait,sleep,block repeat,loop,retry print,write,output rename,move ignore,skip,exclude`

// alternatives gives the other words for one.
func alternatives(word, root string) []string {
	for g := range strings.FieldsSeq(groups) {
		words := strings.Split(g, ",")
		if words[0] == word || stem(words[0]) == root {
			return words[1:]
		}
	}
	return nil
}

// generic are words that lines of code are full of.
var generic = lazySet(`file files get set data value values name names use code type types default call calls function functions
	method methods class read write string list line lines return object field number handle make work thing way part parts
	place places one two new time user path text content variable constant result option happen happens support show add added`)

// stop are words that carry no subject.
var stop = lazySet(`a an the this that these those it its is are was were be been being am do does did doing done have has had having
	i me my we us our you your he she they them their who whom whose what which where when why how
	and or but if then else so than too very just only also not no nor of in on at by for from to into onto with without within
	about over under between through during before after above below up down out off again there here all any each every some
	such own same other both more most can could should would will shall may might must please tell explain describe show find
	search look give want need know like let see get got come goes go use used uses using way exactly actually currently
	project repo repository folder codebase program app package library code source s t ll re ve d m lot kind sort
	define defined defines definition declare declared declaration implement implemented implements implementation
	located location live lives stored mean means meaning work works working file files line lines function functions method
	methods call calls called caller callers class exist exists anything something everything thing things happen happens support supports supported`)
