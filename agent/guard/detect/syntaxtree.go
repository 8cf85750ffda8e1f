package detect

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// manyPrefixes bounds how many beginnings of an expression are told apart.
const manyPrefixes = 64

// prefixes gives the beginnings that matches of an expression have: each match begins with one of them, up to case where
// the expression ignores it. They are as long as the expression is plain. None means that nothing is known.
func prefixes(tree *syntax.Regexp) []string {
	all, _ := expand(tree)
	if slices.Contains(all, "") {
		return nil
	}
	return all
}

// expand gives the beginnings of an expression, and whether they are all of what it matches.
func expand(tree *syntax.Regexp) (all []string, whole bool) {
	switch tree.Op {
	case syntax.OpLiteral:
		return []string{string(tree.Rune)}, true
	case syntax.OpCapture:
		return expand(tree.Sub[0])
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpCharClass:
		return expandClass(tree.Rune)
	case syntax.OpAlternate:
		whole = true
		for _, sub := range tree.Sub {
			some, w := expand(sub)
			all, whole = append(all, some...), whole && w
			if len(all) > manyPrefixes {
				return []string{""}, false
			}
		}
		return all, whole
	case syntax.OpConcat:
		all, whole = []string{""}, true
		for _, sub := range tree.Sub {
			more, w := expand(sub)
			if len(all)*len(more) > manyPrefixes {
				return all, false
			}
			var longer []string
			for _, a := range all {
				for _, m := range more {
					longer = append(longer, a+m)
				}
			}
			all = longer
			if !w {
				return all, false
			}
		}
		return all, whole
	}
	return []string{""}, false
}

func expandClass(ranges []rune) ([]string, bool) {
	var all []string
	for i := 0; i < len(ranges); i += 2 {
		for c := ranges[i]; c <= ranges[i+1]; c++ {
			if all = append(all, string(c)); len(all) > manyPrefixes {
				return []string{""}, false
			}
		}
	}
	return all, true
}

// plainPrefix is what every match begins with, exactly; it may be shorter than it could be.
func plainPrefix(tree *syntax.Regexp) string {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			return string(tree.Rune)
		}
	case syntax.OpCapture, syntax.OpConcat:
		return plainPrefix(tree.Sub[0])
	}
	return ""
}

// cutBoundary takes a word boundary off the beginning of an expression.
func cutBoundary(tree *syntax.Regexp) (rest *syntax.Regexp, cut bool) {
	if tree.Op != syntax.OpConcat || tree.Sub[0].Op != syntax.OpWordBoundary {
		return tree, false
	}
	rest = &syntax.Regexp{Op: syntax.OpConcat, Flags: tree.Flags, Sub: tree.Sub[1:]}
	return rest, true
}

// hasAnyChar tells whether an expression has a part that matches every character, or all but line breaks.
func hasAnyChar(tree *syntax.Regexp) bool {
	return tree.Op == syntax.OpAnyChar || tree.Op == syntax.OpAnyCharNotNL || slices.ContainsFunc(tree.Sub, hasAnyChar)
}

// maxWidth is the length of the longest match of an expression in bytes, [longest] if there is no limit.
func maxWidth(tree *syntax.Regexp) int {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase != 0 {
			return 3 * len(tree.Rune) // k has a fold of three bytes
		}
		return len(string(tree.Rune))
	case syntax.OpCharClass:
		if n := len(tree.Rune); n > 0 {
			return max(utf8.RuneLen(tree.Rune[n-1]), 1)
		}
		return 0
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpCapture, syntax.OpQuest:
		return maxWidth(tree.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		return longest
	case syntax.OpRepeat:
		if tree.Max < 0 {
			return longest
		}
		return min(tree.Max*maxWidth(tree.Sub[0]), longest)
	case syntax.OpConcat:
		sum := 0
		for _, sub := range tree.Sub {
			sum += maxWidth(sub)
		}
		return min(sum, longest)
	case syntax.OpAlternate:
		widest := 0
		for _, sub := range tree.Sub {
			widest = max(widest, maxWidth(sub))
		}
		return widest
	}
	return 0
}
