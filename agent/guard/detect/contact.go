package detect

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

// The lengths that addresses have at most.
const (
	longestLocal  = 64
	longestDomain = 253
)

// email finds the address whose "@" is text[at].
func email(text string, at int, found []Span) []Span {
	from := at
	for from > 0 && at-from <= longestLocal {
		c, size := utf8.DecodeLastRuneInString(text[:from])
		if c == utf8.RuneError || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._%+-'", c) {
			break
		}
		from -= size
	}
	for from < at && strings.IndexByte(".-'%+", text[from]) >= 0 {
		from++
	}
	to := at + 1
	for to < len(text) && to-at <= longestDomain {
		c, size := utf8.DecodeRuneInString(text[to:])
		if c == utf8.RuneError || !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '.' && c != '-' {
			break
		}
		to += size
	}
	for to > at+1 && (text[to-1] == '.' || text[to-1] == '-') {
		to--
	}
	local, domain := text[from:at], strings.ToLower(text[at+1:to])
	if len(local) == 0 || len(local) > longestLocal || local[len(local)-1] == '.' || !personalAddress(local, domain) {
		return found
	}
	before, after := text[:from], text[to:]
	switch {
	case strings.HasSuffix(before, "//"): // a login in an address
		return found
	case strings.HasPrefix(after, ":") && len(after) > 1 && !unicode.IsSpace(rune(after[1])) && strings.IndexByte("\"'`)", after[1]) < 0: // scp's way to name a file
		return found
	case strings.HasPrefix(after, "@"), strings.HasPrefix(after, "("), strings.HasPrefix(after, "_"):
		return found
	}
	return append(found, Span{Start: from, End: to, Kind: Email, Rule: "email"})
}

// personalAddress tells whether an address can be somebody's: its domain can exist, and it is no example.
func personalAddress(local, domain string) bool {
	switch strings.ToLower(local) {
	case "git", "this", "super", "return", "noreply", "no-reply", "donotreply":
		return false
	}
	labels := strings.Split(domain, ".")
	if len(labels) < 2 || slices.Contains(labels, "") {
		return false
	}
	top, second := labels[len(labels)-1], labels[len(labels)-2]
	switch {
	case slices.Contains([]string{"example", "test", "invalid", "localhost", "local", "internal"}, top):
		return false
	case second == "example" && slices.Contains([]string{"com", "net", "org"}, top):
		return false
	case labels[0] == "2x", labels[0] == "3x": // icon@2x.zip
		return false
	case !slices.ContainsFunc([]rune(top), unicode.IsLetter):
		return false
	}
	suffix, known := publicsuffix.PublicSuffix(domain)
	return (known || strings.Contains(suffix, ".")) && suffix != domain
}

// ipv4 finds a public address of four numbers.
func ipv4(text string, at int) (Span, bool) {
	if at > 0 && !startsWord(text, at) && !strings.HasSuffix(text[:at], "//") {
		return Span{}, false
	}
	end := at
	for end < len(text) && (isDigit(text[end]) || text[end] == '.') && end-at < 16 {
		end++
	}
	for end > at && text[end-1] == '.' {
		end--
	}
	if end < len(text) && (isWord(text[end]) || text[end] == '-' || text[end] == '.' && end+1 < len(text) && isWord(text[end+1])) {
		return Span{}, false
	}
	addr, err := netip.ParseAddr(text[at:end])
	if err != nil || !public(addr) || versionBefore(text, at) || isSection(addr) && !strings.HasSuffix(text[:at], "//") {
		return Span{}, false
	}
	return Span{Start: at, End: end, Kind: IP, Rule: "ipv4"}, true
}

// versionBefore tells whether four numbers are rather a version's than an address's.
func versionBefore(text string, at int) bool {
	for _, sign := range []string{"==", ">=", "<=", "~=", "~>", "^", "~"} {
		if strings.HasSuffix(strings.TrimRight(text[max(0, at-4):at], " "), sign) {
			return true
		}
	}
	return saysBefore(text, at, "version", "release", "build ", "oid", "section")
}

// isSection tells whether four numbers are all as small as those of chapters and versions: few addresses are.
func isSection(addr netip.Addr) bool {
	return !slices.ContainsFunc(addr.AsSlice(), func(b byte) bool { return b > 31 })
}

// ipv6 finds a public address, at its first colon text[at].
func ipv6(text string, at int, found []Span) []Span {
	in := func(i int) bool { return isHex(text[i]) || text[i] == ':' || text[i] == '.' }
	from, to := at, at+1
	for from > 0 && in(from-1) && at-from < 8 {
		from--
	}
	if strings.IndexByte(text[from:at], ':') >= 0 || at-from != 4 {
		return found
	}
	for to < len(text) && in(to) && to-from < 46 {
		to++
	}
	for to > at+1 && (text[to-1] == ':' || text[to-1] == '.') && !strings.HasSuffix(text[from:to], "::") {
		to--
	}
	if !startsWord(text, from) && !strings.HasSuffix(text[:from], "//") || !endsWord(text, to) && text[min(to, len(text)-1)] != '/' {
		return found
	}
	addr, err := netip.ParseAddr(text[from:to])
	if err != nil || !public(addr) {
		return found
	}
	return append(found, Span{Start: from, End: to, Kind: IP, Rule: "ipv6"})
}

// nobodys are ranges that no person's machine has an address of: examples, measurements, names of services that everybody
// uses, and numbers that are rather identifiers.
const nobodys = "0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 " +
	"1.1.1.1/32 1.0.0.1/32 8.8.8.8/32 8.8.4.4/32 9.9.9.9/32 1.2.3.4/32 2.5.4.0/24 2.5.29.0/24 1.3.6.1/32 " +
	"2001:db8::/32 2001:4860:4860::/48 2606:4700:4700::/48 2620:fe::/48"

// public tells whether an address is one that leads to somebody.
func public(addr netip.Addr) bool {
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for text := range strings.FieldsSeq(nobodys) {
		if netip.MustParsePrefix(text).Contains(addr) {
			return false
		}
	}
	return addr.Is4() || netip.MustParsePrefix("2000::/3").Contains(addr)
}
