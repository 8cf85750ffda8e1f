package offline

import "regexp"

// asking is what kind of question it is.
type asking int

const (
	askingAny      asking = iota // what fits the words
	askingWhere                  // where something is set or defined
	askingCalls                  // what uses something
	askingWhat                   // what something is
	askingHow                    // how one does something: documentation first
	askingOverview               // what the project is
	askingHello                  // nothing about the folder
	askingWork                   // a task for a language model
)

// workVerbs begin a task.
const workVerbs = `(?:implement|refactor|fix|write|add|rename|update|change|make|create|delete|remove|move|improve|optimi[sz]e|convert|migrate|generate|debug|review|commit|translate|rewrite|replace|append|extend|port|upgrade|test|solve)`

var workVerb = lazy(`^` + workVerbs + `$`)

// kinds are tried in order.
var kinds = []struct {
	kind asking
	re   func() *regexp.Regexp
}{
	{askingHello, lazy(`(?i)^(?:hi|hello|hey|yo|moin|hola|good (?:morning|evening|afternoon|day)|thanks?(?: you)?|thank you|ok(?:ay)?|cheers|bye|goodbye|ping|test|testing|yes|no)(?: (?:there|wherry|all|everyone|very much|a lot|so much))?[\s.!,?)(:]*$`)},
	{askingHello, lazy(`(?i)^(?:hi|hello|hey)?[\s,!.]*(?:who|what) are you\b|^(?:hi|hello|hey)?[\s,!.]*what can (?:you|i) (?:do|ask)\b|^how are you\b|^are you (?:a|an|the|real)\b|^which model\b|^what model (?:are|is)\b|^how (?:do|can) (?:you|i) (?:work with you|use you|talk to you)\b`)},
	{askingOverview, lazy(`(?i)^(?:so |and |ok,? )?what(?:'s| is| does| do)? (?:this|the|here|it)(?: (?:is|folder|project|repo|repository|code ?base|code|program|app|application|package|library|module|tool|directory))?(?: (?:do|does|about|for|all about|here|is|good for))*[\s?.!]*$|\b(?:overview|summar(?:y|i[sz]e)|describe|explain|introduc\w+)\b.{0,24}\b(?:project|repo(?:sitory)?|code ?base|folder)\b[\s?.!]*$|^(?:give me |show me )?an? (?:overview|summary|introduction)[\s?.!]*$|^what(?:'s| is) (?:in|inside) (?:this|the|here)(?: (?:folder|project|repo(?:sitory)?|directory))?[\s?.!]*$|^what am i looking at`)},
	{askingCalls, lazy(`(?i)^(?:what|who|which \w+|where)\b.*\b(?:calls?|called|uses?|used|invokes?|invoked|references?|referenced|imports?|imported|depends? on|raises?|raised|throws?|thrown|implements?|embeds?)\b|\b(?:callers?|usages?|uses|references) of\b|^where do(?:es)? .*\b(?:call|use)\b`)},
	{askingWhere, lazy(`(?i)^(?:where|which file|in which file|what file)\b|\bwhere (?:is|are|does|do|can)\b|^(?:find|locate|show)\b.*\b(?:definition|declaration|implementation)\b`)},
	{askingHow, lazy(`(?i)^(?:how (?:do|can|could|should|would|to|does one)\b|what(?:'s| is) the (?:command|way) (?:to|for)\b|(?:please )?(?:run|execute|start|build|install|lint|format|deploy)\b)`)},
	{askingWhat, lazy(`(?i)^(?:what(?:'s| is| are| does| do)\b|explain\b|describe\b|tell me about\b|who is\b|define\b)`)},
	{askingWork, lazy(`(?i)^(?:please |can you |could you |would you |i want you to |let'?s )*` + workVerbs + `\b`)},
}

func askingKind(text string) asking {
	text = polite(text)
	for _, k := range kinds {
		if k.re().MatchString(text) {
			return k.kind
		}
	}
	return askingAny
}

// participle tells a verb that ends a question: "how is it chosen?", "where is it built?". It says little.
var participle = lazy(`(?:[a-z]{2}ed|en|built|made|kept|sent|held|put|found|done|run|read|bound)$`)

// aboutKind tells whether a word only said which kind of question it is.
func aboutKind(kind asking, word string) bool {
	switch kind {
	case askingWhere:
		switch word {
		case "set", "defined", "configured", "handled", "made", "created", "assigned", "found", "added", "declaration":
			return true
		}
	case askingCalls:
		switch word {
		case "invokes", "invoked", "references", "referenced", "imports", "imported", "usages", "usage", "depends", "depend",
			"raises", "raise", "raised", "throws", "throw", "thrown", "embeds", "embed":
			return true
		}
	case askingWork:
		return word == "bug" || workVerb().MatchString(word)
	case askingHow, askingWhat:
		switch word {
		case "command":
			return true
		}
	}
	return false
}
