package detect

import (
	"fmt"
	"strings"
	"testing"
)

// withLuhn completes digits to a number of so many, whose last digit checks.
func withLuhn(prefix string, length int) string {
	body := prefix + made(digits, length-1-len(prefix))
	for d := range 10 {
		if n := body + fmt.Sprint(d); luhn([]byte(n)) {
			return n
		}
	}
	panic("no check digit")
}

// withCheck makes an account number whose check digits are right.
func withCheck(country, account string) string {
	return fmt.Sprintf("%s%02d%s", country, 98-mod97(country+"00"+account), account)
}

func groups(number string, n int) string {
	var all []string
	for ; len(number) > n; number = number[n:] {
		all = append(all, number[:n])
	}
	return strings.Join(append(all, number), " ")
}

func TestPersonalDataIsFound(t *testing.T) {
	s := scanner(t, Options{Personal: true})
	visa, amex := withLuhn("4"+"5", 16), withLuhn("3"+"7", 15)
	german, british := withCheck("DE", made(digits, 18)), withCheck("GB", "WEST"+made(digits, 14))
	mail := func(local, domain string) string { return local + "@" + domain }
	for _, c := range []struct {
		kind        Kind
		text, value string
	}{
		{Email, "write to " + mail("jane.doe", "posteo.de") + ".", mail("jane.doe", "posteo.de")},
		{Email, "<" + mail("j+x", "mail.some-firm.co.uk") + ">", mail("j+x", "mail.some-firm.co.uk")},
		{Email, "mailto:" + mail("a_b", "some-firm.com"), mail("a_b", "some-firm.com")},
		{Email, `"` + mail("jörg", "some-firm.com") + `"`, mail("jörg", "some-firm.com")},
		{Email, mail("jane", "some-firm.com") + ": hello", mail("jane", "some-firm.com")},
		{Phone, "call +1 415 555 2671 now", "+1 415 555 2671"},
		{Phone, "call +14155552671.", "+14155552671"},
		{Phone, "+49 (0)30 123456-78", "+49 (0)30 123456-78"},
		{Phone, "Tel.: 030 1234567", "030 1234567"},
		{Phone, "(415) 555-2671", "(415) 555-2671"},
		{Phone, "415-555-2671,", "415-555-2671"},
		{Phone, "1-415-555-2671", "1-415-555-2671"},
		{Phone, `"phone": "01701234567"`, "01701234567"},
		{Card, "paid with " + visa, visa},
		{Card, groups(visa, 4) + " 12/27", groups(visa, 4)},
		{Card, strings.ReplaceAll(groups(visa, 4), " ", "-"), strings.ReplaceAll(groups(visa, 4), " ", "-")},
		{Card, "amex " + amex[:4] + " " + amex[4:10] + " " + amex[10:], amex[:4] + " " + amex[4:10] + " " + amex[10:]},
		{IBAN, "IBAN " + german + ",", german},
		{IBAN, groups(german, 4) + " BIC", groups(german, 4)},
		{IBAN, british, british},
		{SSN, "ssn " + "212-45" + "-6789", "212-45" + "-6789"},
		{SSN, "his number is " + "212-45" + "-6789.", "212-45" + "-6789"},
		{SSN, "SSN: " + "21245" + "6789", "21245" + "6789"},
		{IP, "from 84.17.52.9: refused", "84.17.52.9"},
		{IP, "http://84.17.52.9:80/x", "84.17.52.9"},
		{IP, "peer 2a02:8109:9a80:1c::7 left", "2a02:8109:9a80:1c::7"},
		{IP, "[2a02:8109:9a80:1c::7]:443", "2a02:8109:9a80:1c::7"},
	} {
		finds(t, s, c.kind, c.text, c.value)
	}
}

func TestWhatOnlyLooksLikePersonalDataIsLeftAlone(t *testing.T) {
	s := scanner(t, Options{Personal: true})
	visa, german := withLuhn("4"+"5", 16), withCheck("DE", made(digits, 18))
	wrong := func(number string) string { // one digit changed in the middle
		d := (number[9]-'0'+1)%10 + '0'
		return number[:9] + string(d) + number[10:]
	}
	for _, text := range []string{
		"git@github.com:o/r.git", "ssh user@host", "user@host.local", "a@example.com", "x@sub.example.org", "npm i left-pad@1.3.0",
		"golang.org/x/net@v0.62.0", "this@Outer.field", "icon@2x.png", "@Component.Name", "foo@bar", "https://me@some-firm.com/x",
		"deploy@some-firm.com:/srv/www", "@media (max-width: 3.em)", "a@b@c.d",
		wrong(visa), "0." + visa, visa + "0", visa + ".5", "id" + visa, "0x" + visa, strings.Repeat("4", 16), "9" + visa[1:],
		wrong(german), german + "1", "X" + german, "DE00 0000",
		"000-12-3456", "666-12-3456", "912-12-3456", "212-00-3456", "212-45-0000", "212456789", "12-212-45-6789", "2024-01-15",
		"127.0.0.1", "10.1.2.3", "192.168.0.1", "0.0.0.0", "255.255.255.0", "v84.17.52.9", "version 84.17.52.9", "84.17.52.9.1", "84.17.52",
		"lib==84.17.52.9", "Chrome/84.17.52.9", "192.0.2.7", "203.0.113.9", "8.8.8.8", "2.5.29.17", "31.7.8.1: loads", withLuhn("4"+"5", 19), "1.3.6.1.4.1.311", "284.17.52.9",
		"std::string", "::1", "fe80::1", "2001:db8::1", "12:30:45", "a::b::c", "00:1a:2b:3c:4d:5e",
		"+1234567", "+200", "a+14155552671", "+1 415 555 0123", "1700000000", "20240115123045", "2024-01-15 12:30:45", "415-555-26711",
		"1.234.567.8901", "-14155552671", "+17000000000", "\n+1700000000,\n", "x\n+4912345678,\n", "x[3]+491234567890", "555-2671", "call 12:30", "1e+1234567890",
		"phone: 2024-01-15", "550e8400-e29b-41d4-a716-446655440000",
	} {
		finds(t, s, "", text)
	}
}

func TestNamesOfTheListAreFoundAsWholeWords(t *testing.T) {
	s := scanner(t, Options{Personal: true, Names: []string{"Jane Doe", "Müller", "ACME"}})
	finds(t, s, Name, "Jane Doe met MÜLLER and müller of acme's; JANE DOE.", "Jane Doe", "MÜLLER", "müller", "acme", "JANE DOE")
	finds(t, s, Name, "Jane  Doen acmeist Müllerin x_acme jane")
	finds(t, scanner(t, Options{Names: []string{"Jane"}}), Name, "Jane")
}

func TestOverlappingSpansAreUnited(t *testing.T) {
	s := scanner(t, Options{Secrets: true, Personal: true, Names: []string{"hunter", "posteo"}})
	finds(t, s, Email, "jane@posteo.de", "jane@posteo.de")
	text := "password = \"hunter" + "2\""
	spans := s.Scan(text)
	if len(spans) != 1 || spans[0].Kind != Secret {
		t.Errorf("in %q: %v, want one secret", text, spans)
	}
	got := merge([]Span{{Start: 4, End: 9, Kind: IP}, {Start: 0, End: 5, Kind: Name}, {Start: 9, End: 10, Kind: Card}, {Start: 8, End: 9, Kind: SSN}})
	if want := fmt.Sprint([]Span{{Start: 0, End: 9, Kind: SSN}, {Start: 9, End: 10, Kind: Card}}); fmt.Sprint(got) != want {
		t.Errorf("merge gave %v, want %v", got, want)
	}
}

func TestTheAutomatonFindsEveryKeyword(t *testing.T) {
	words := []string{"he", "she", "his", "hers", "e", "ab-c"}
	var got []string
	newAutomaton(words).each("uSHErs AB-c his", func(k, end int) { got = append(got, fmt.Sprint(words[k], end)) })
	want := "[she4 he4 e4 hers6 ab-c11 his15]"
	if fmt.Sprint(got) != want {
		t.Errorf("found %v, want %v", got, want)
	}
}
