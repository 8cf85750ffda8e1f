package detect

import (
	"slices"
	"strings"
)

// callingCodes are the country codes of telephone numbers, but for 1.
const callingCodes = " 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 7 81 82 84 86 90 91 92 93 94 " +
	"95 98 211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 " +
	"246 248 249 250 251 252 253 254 255 256 257 258 260 261 262 263 264 265 266 267 268 269 290 291 297 298 299 350 351 352 353 354 " +
	"355 356 357 358 359 370 371 372 373 374 375 376 377 378 380 381 382 383 385 386 387 389 420 421 423 500 501 502 503 504 505 506 " +
	"507 508 509 590 591 592 593 594 595 596 597 598 599 670 672 673 674 675 676 677 678 679 680 681 682 683 685 686 687 688 689 690 " +
	"691 692 850 852 853 855 856 880 886 960 961 962 963 964 965 966 967 968 970 971 972 973 974 975 976 977 992 993 994 995 996 998 "

// internationalPhone finds a number that begins with its "+" at text[at].
func internationalPhone(text string, at int, found []Span) []Span {
	if at > 0 && (isWord(text[at-1]) || strings.IndexByte("+-=.)]", text[at-1]) >= 0 && !saysPhone(text, at)) {
		return found
	}
	digits, end, separated := dialled(text, at+1)
	if !endsWord(text, end) || !dialable(digits) {
		return found
	}
	// A line of a diff begins with "+", and numbers are added in sums.
	if lineStart := at == 0 || text[at-1] == '\n'; lineStart && !separated && len(digits) < 11 {
		return found
	}
	return append(found, Span{Start: at, End: end, Kind: Phone, Rule: "phone"})
}

// dialled reads the digits of a telephone number with what people write between them.
func dialled(text string, at int) (digits string, end int, separated bool) {
	var plain []byte
	end = at
	gap := 0
	for i := at; i < len(text) && len(plain) <= 15; i++ {
		switch c := text[i]; {
		case isDigit(c):
			plain = append(plain, c)
			separated = separated || gap > 0 && len(plain) > 1
			end, gap = i+1, 0
			continue
		case strings.IndexByte(" .-()/", c) >= 0 && len(plain) > 0 && gap < 2:
			gap++
			continue
		}
		break
	}
	return string(plain), end, separated
}

// dialable tells whether the digits after "+" can be a telephone number.
func dialable(digits string) bool {
	if len(digits) < 9 || len(digits) > 15 {
		return false
	}
	if digits[0] == '1' {
		return len(digits) == 11 && northAmerican(digits[1:])
	}
	for n := 1; n <= 3; n++ {
		if strings.Contains(callingCodes, " "+digits[:n]+" ") {
			return strings.Count(digits[n:], digits[n:n+1]) < len(digits)-n
		}
	}
	return false
}

// northAmerican tells whether ten digits are a number of the North American plan, and not one kept for films.
func northAmerican(digits string) bool {
	return len(digits) == 10 && digits[0] >= '2' && digits[3] >= '2' && digits[1:3] != "11" && digits[4:6] != "11" &&
		digits[3:8] != "55501" && digits[0:3] != digits[3:6]
}

// americanPhone finds (415) 555-2671, at its bracket text[at].
func americanPhone(text string, at int, found []Span) []Span {
	if at+14 > len(text) || text[at+4] != ')' || at > 0 && isWord(text[at-1]) {
		return found
	}
	next := at + 5
	if text[next] == ' ' {
		next++
	}
	digits, groups, end := digitGroups(text, next, "-. ", 7)
	if !isNumber(text[at+1:at+4]) || !slices.Equal(groups, []int{3, 4}) || !northAmerican(text[at+1:at+4]+string(digits)) || !endsWord(text, end) {
		return found
	}
	return append(found, Span{Start: at, End: end, Kind: Phone, Rule: "phone"})
}

// plainPhone finds numbers without "+": 415-555-2671, and others where the text says that they are telephone numbers.
func plainPhone(text string, at int) (Span, bool) {
	if !startsWord(text, at) {
		return Span{}, false
	}
	span := func(end int) (Span, bool) { return Span{Start: at, End: end, Kind: Phone, Rule: "phone"}, true }
	digits, groups, end := digitGroups(text, at, "-.", 15)
	if len(digits) == 11 && digits[0] == '1' && groups[0] == 1 && text[at+1] == '-' { // with dots it is a version or a count
		digits, groups = digits[1:], groups[1:]
	}
	if slices.Equal(groups, []int{3, 3, 4}) && northAmerican(string(digits)) && endsWord(text, end) {
		return span(end)
	}
	if !saysPhone(text, at) {
		return Span{}, false
	}
	plain, end, separated := dialled(text, at)
	if len(plain) < 7 || len(plain) > 15 || !endsWord(text, end) || !separated && plain[0] != '0' && len(plain) < 9 || isDate(text[at:end]) {
		return Span{}, false
	}
	return span(end)
}

func saysPhone(text string, at int) bool {
	return saysBefore(text, at, "phone", "tel:", "tel.", "telefon", "mobile", "mobil:", "fax", "call me", "whatsapp", "handy")
}

// isDate tells whether a text is a date such as 2024-01-15 or 15.01.2024.
func isDate(text string) bool {
	if len(text) < 8 {
		return false
	}
	_, groups, _ := digitGroups(text, 0, "-./", 14)
	return len(groups) >= 3 && (groups[0] == 4 && groups[1] <= 2 && groups[2] <= 2 || groups[0] <= 2 && groups[1] <= 2 && groups[2] == 4)
}
