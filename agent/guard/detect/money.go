package detect

import (
	"slices"
	"strings"
)

// card finds the number of a payment card: an issuer's prefix and length, the usual groups, and the check digit.
func card(text string, at int) (Span, bool) {
	if !startsWord(text, at) {
		return Span{}, false
	}
	digits, groups, end := digitGroups(text, at, " -", 27)
	for len(digits) >= 13 { // other numbers may follow: the month of expiry
		if len(digits) <= 19 && issued(string(digits)) && cardGroups(groups) && luhn(digits) && endsWord(text, end) {
			return Span{Start: at, End: end, Kind: Card, Rule: "card"}, true
		}
		last := groups[len(groups)-1]
		digits, groups, end = digits[:len(digits)-last], groups[:len(groups)-1], end-last-1
	}
	return Span{}, false
}

// cardGroups tells whether groups of digits are those printed on cards.
func cardGroups(groups []int) bool {
	switch {
	case len(groups) == 1: // so long and in one piece, most numbers are something else
		return groups[0] <= 16
	case slices.Equal(groups, []int{4, 6, 5}), slices.Equal(groups, []int{4, 6, 4}):
		return true
	}
	for i, n := range groups {
		if n != 4 && i < len(groups)-1 || n > 4 {
			return false
		}
	}
	return true
}

// issued tells whether an issuer of cards has the prefix, with numbers of this length.
func issued(digits string) bool {
	n := len(digits)
	prefix := func(length int) int {
		p := 0
		for _, c := range digits[:length] {
			p = p*10 + int(c-'0')
		}
		return p
	}
	two, three, four := prefix(2), prefix(3), prefix(4)
	switch {
	case digits[0] == '4': // Visa
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720: // Mastercard
		return n == 16
	case two == 34, two == 37: // American Express
		return n == 15
	case two == 36, two == 38, two == 39, three >= 300 && three <= 305: // Diners Club
		return n == 14 || n == 16
	case four == 6011, two == 65, three >= 644 && three <= 649, two == 62: // Discover, UnionPay
		return n >= 16
	case four >= 3528 && four <= 3589: // JCB
		return n >= 16
	}
	return false
}

// luhn checks the last digit, and that the number is not one digit all through.
func luhn(digits []byte) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0 && slices.ContainsFunc(digits, func(d byte) bool { return d != digits[0] })
}

// ibanLengths are the lengths of account numbers by country.
const ibanLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23GL18GR27" +
	"GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28" +
	"PS29PT25QA29RO24RS22SA24SC31SD18SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20"

// iban finds an international bank account number, whose two check digits begin at text[at].
func iban(text string, at int) (Span, bool) {
	if at < 2 || !isUpper(text[at-1]) || !isUpper(text[at-2]) || !startsWord(text, at-2) {
		return Span{}, false
	}
	length := 0
	for i := 0; i < len(ibanLengths); i += 4 {
		if ibanLengths[i:i+2] == text[at-2:at] {
			length = int(ibanLengths[i+2]-'0')*10 + int(ibanLengths[i+3]-'0')
		}
	}
	var plain strings.Builder
	end := at - 2
	for ; length > 0 && end < len(text) && plain.Len() < length; end++ {
		switch c := text[end]; {
		case isDigit(c), isUpper(c):
			plain.WriteByte(c)
		case c == ' ' && plain.Len()%4 == 0:
		default:
			return Span{}, false
		}
	}
	if length == 0 || plain.Len() < length || !endsWord(text, end) || mod97(plain.String()) != 1 {
		return Span{}, false
	}
	return Span{Start: at - 2, End: end, Kind: IBAN, Rule: "iban"}, true
}

// mod97 is the remainder that an account number with right check digits leaves as 1.
func mod97(number string) int {
	rest := 0
	for _, c := range number[4:] + number[:4] {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
			continue
		}
		rest = (rest*10 + int(c-'0')) % 97
	}
	return rest
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// ssn finds a social security number of the United States: three, two and four digits that can be one; without
// separators only where the text says so.
func ssn(text string, at int) (Span, bool) {
	if !startsWord(text, at) {
		return Span{}, false
	}
	digits, groups, end := digitGroups(text, at, "- ", 9)
	if len(digits) != 9 || !endsWord(text, end) {
		return Span{}, false
	}
	said := saysBefore(text, at, "ssn", "social security", "social_security", "socialsecurity", "tax id")
	switch {
	case slices.Equal(groups, []int{3, 2, 4}) && (said || text[at+3] == '-'):
	case len(groups) == 1 && said:
	default:
		return Span{}, false
	}
	area, group, serial := string(digits[:3]), string(digits[3:5]), string(digits[5:])
	if area == "000" || area == "666" || area[0] == '9' || group == "00" || serial == "0000" {
		return Span{}, false
	}
	switch string(digits) {
	case "078051120", "219099999": // printed in advertisements, never given to anybody
		return Span{}, false
	}
	return Span{Start: at, End: end, Kind: SSN, Rule: "ssn"}, true
}
