package modeltest

import (
	"fmt"
	"strings"
)

// ScriptHelp describes the files that [ParseScript] reads.
const ScriptHelp = `A script file holds blocks, separated by lines of ---. A block that begins with a line "when: TEXT" answers
every prompt that contains TEXT. The other blocks answer, one after the other, prompts without directives.
`

// ParseScript reads a script file: rules for [Options.Rules], and replies for [Server.Queue].
func ParseScript(text string) (rules []Rule, queue []string, err error) {
	for i, block := range strings.Split("\n"+strings.ReplaceAll(text, "\r\n", "\n")+"\n", "\n---\n") {
		block = strings.TrimSpace(block)
		if block == "" {
			continue
		}
		head, rest, _ := strings.Cut(block, "\n")
		when, isRule := strings.CutPrefix(head, "when:")
		if !isRule {
			rest = block
		}
		if _, err := parse(rest); err != nil {
			return nil, nil, fmt.Errorf("block %d: %w", i+1, err)
		}
		if isRule {
			rules = append(rules, Rule{When: strings.TrimSpace(when), Script: strings.TrimSpace(rest)})
		} else {
			queue = append(queue, rest)
		}
	}
	return rules, queue, nil
}
