package detect

import (
	"fmt"
	"strings"
	"testing"
)

func TestKeysOfKnownServicesAreFoundWhereverTheyStand(t *testing.T) {
	s := scanner(t, Options{Secrets: true})
	jwt := "ey" + "J" + made(alnum, 30) + "." + "ey" + "J" + made(alnum, 60) + "." + made(alnum, 43)
	for name, key := range map[string]string{
		"aws access key":     "AK" + "IA" + made(upperNum, 16),
		"github token":       "gh" + "p_" + made(alnum, 36),
		"github fine token":  "github" + "_pat_" + made(alnum, 82),
		"gitlab token":       "gl" + "pat-" + made(alnum, 20),
		"google api key":     "AI" + "za" + made(alnum, 35),
		"anthropic key":      "sk-" + "ant-api03-" + made(alnum, 93) + "AA",
		"openai key":         "sk-" + "proj-" + made(alnum, 74) + "T3Blbk" + "FJ" + made(alnum, 74),
		"slack bot token":    "xo" + "xb-" + made(digits, 12) + "-" + made(digits, 12) + made(alnum, 24),
		"stripe key":         "sk" + "_live_" + made(alnum, 24),
		"npm token":          "np" + "m_" + made(lowers+digits, 36),
		"hugging face token": "hf" + "_" + made(lowers, 34),
		"azure secret":       made(alnum, 3) + "7" + "Q~" + made(alnum, 33),
		"sendgrid key":       "SG" + "." + made(lowers+digits, 66),
		"json web token":     jwt,
		"vault token":        "hv" + "s." + made(alnum, 95),
		"digitalocean token": "do" + "p_v1_" + made(hexDigits, 64),
		"twilio key":         "S" + "K" + made(hexDigits, 32),
	} {
		for _, form := range []string{"%s", "x %s y", "use \"%s\" here\n", "a\n%s\nb", "\t%s", "head(%q)", strings.Repeat("word ", 500) + "%s" + strings.Repeat(" word", 500)} {
			text := fmt.Sprintf(form, key)
			t.Run(name, func(t *testing.T) { finds(t, s, Secret, text, key) })
		}
	}
}

func TestValuesOfTellingNamesAreFound(t *testing.T) {
	s := scanner(t, Options{Secrets: true})
	weak, strong := "hunter"+"2", made(alnum, 24)+"7x"
	for _, c := range []struct{ text, value string }{
		{`password = "` + weak + `"`, weak},
		{`password: '` + weak + `'`, weak},
		{`{"user": "jane", "password": "` + weak + `", "port": 5432}`, weak},
		{`{\"password\": \"` + weak + `\"}`, weak},
		{`DB_PASSWORD=` + weak, weak},
		{"export DB_PASSWORD=" + weak + "\nexport X=1", weak},
		{"DB_PASSWORD=swordfish\n", "swordfish"},
		{"  password: swordfish\n  port: 1", "swordfish"},
		{"    12\tAPI_TOKEN=" + strong, strong},
		{"app/settings.ini:7: password = " + weak, weak},
		{`Password: "` + weak + `",`, weak},
		{"pwd := `" + weak + "`", weak},
		{`"pass" + word; PGPASSWORD=` + weak + ` psql`, weak},
		{`apiKey: "` + strong + `"`, strong},
		{`client_secret => "` + strong + `"`, strong},
		{`https://h/x?access_token=` + strong + `&a=b`, strong},
		{`mysql --password=` + weak + ` -u root`, weak},
		{`tool --password ` + weak + ` -u root`, weak},
		{`<password>` + weak + `</password>`, weak},
		{`aws_secret_access_key = ` + made(base64, 39) + "7", made(base64, 39) + "7"},
		{`AccountName=x;AccountKey=` + made(alnum, 85) + `7==;EndpointSuffix=y`, made(alnum, 85) + "7=="},
		{`//packages.example/:_authToken=` + strong, strong},
		{`config["password"] = "` + weak + `"`, weak},
		{`let token2 = '` + strong + `'`, strong},
		{`Authorization: Bearer ` + strong, strong},
		{`"Authorization": "Basic ` + made(alnum, 20) + `=="`, made(alnum, 20) + "=="},
		{`https://x.blob.core.windows.net/c?sv=1&sig=` + made(alnum, 43) + `%3D`, made(alnum, 43) + "%3D"},
	} {
		finds(t, s, Secret, c.text, c.value)
	}
}

func TestCodeAndTextAboutSecretsIsLeftAlone(t *testing.T) {
	s := scanner(t, Options{Secrets: true})
	for _, text := range []string{
		`password := os.Getenv("DB_PASSWORD")`,
		`password = config.password`,
		`password=password`,
		`password: string;`,
		`password: str`,
		`Password string ` + "`json:\"password\"`",
		`connect(user="x", password=pw, token=tok1)`,
		`DB_PASSWORD=${DB_PASSWORD}`,
		`DB_PASSWORD=$SECRET`,
		`password: {{ .Values.password }}`,
		`password: "<your password>"`,
		`"password": "changeme"`,
		`"password": "Enter your password"`,
		`"password": "Contraseña"`,
		`API_KEY=your-api-key-here`,
		`token = next(tokens)`,
		`case token.STRING: return "x1"`,
		`const TokenInvalid = "invalid_token"`,
		`secretName: my-secret-name`,
		`key: 550e8400-e29b-41d4-a716-446655440000`,
		`"token": "550e8400-e29b-41d4-a716-446655440000"`,
		`"token": "` + made(hexDigits, 8) + "-" + made(hexDigits, 4) + "-4" + made(hexDigits, 3) + "-a" + made(hexDigits, 3) + "-" + made(hexDigits, 12) + `"`,
		`if the password = s3cret9 is given, then`,
		`with password: s3cret9 and more`,
		"x" + "AK" + "IA" + made(upperNum, 16),
		"gh" + "p_" + lowers + digits,
		`"cacheKey": "` + made(hexDigits, 40) + `"`,
		`commit ` + made(hexDigits, 40),
		`sha256:` + made(hexDigits, 64),
		`golang.org/x/oauth2 v0.36.0 h1:` + made(base64, 43) + `=`,
		`"integrity": "sha512-` + made(base64, 86) + `=="`,
		`KEY_ENCRYPTION_KEY = 0xc0506617`,
		`The token is checked, and the password: it must have eight characters.`,
		`--password string   the password of the database`,
		`the bearer authentication scheme; Bearer tokens are opaque`,
		`http://user:password@localhost:5432/db`,
		`http://$USER:$PASS@host/`,
		`git clone ssh://git@host:22/repo`,
		`https://host:8443/path?x=a@b`,
		`passwd:         files systemd`,
		`x := map[string]string{"auth": "bearer", "access": "public"}`,
		`tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")`,
		`-----BEGIN CERTIFICATE-----` + "\n" + made(base64, 64) + "\n-----END CERTIFICATE-----",
		`if strings.Contains(s, "-----BEGIN RSA PRIVATE KEY-----") {`,
		`password == ""`,
		`sourcegraph ` + made(hexDigits, 40),
		`// see https://github.com/o/r/blob/` + made(hexDigits, 40) + `/auth.go#L3`,
	} {
		finds(t, s, Secret, text)
	}
}

func TestPasswordsInAddressesAreFound(t *testing.T) {
	s := scanner(t, Options{Secrets: true})
	weak := "s3cr" + "et!x"
	for _, c := range []struct{ text, value string }{
		{"postgres://app:" + weak + "@db:5432/x?sslmode=off", weak},
		{`url: "mongodb+srv://u:` + weak + `@c.example.net"`, weak},
		{"redis://:" + weak + "@localhost:6379/0", weak},
		{"https://u:p@ss" + weak + "@host/", "p@ss" + weak},
		{"u:" + weak + "@tcp(127.0.0.1:3306)/db", weak},
		{"https://u:pa%40" + weak + "@host/", "pa%40" + weak},
	} {
		finds(t, s, Secret, c.text, c.value)
	}
}

func TestPrivateKeysAreFoundInWholeAndInPart(t *testing.T) {
	s := scanner(t, Options{Secrets: true})
	label := "RSA PRIVATE" + " KEY"
	key := pem(label, 9)
	lines := strings.Split(key, "\n")
	number := func(lines []string) string {
		var b strings.Builder
		for i, line := range lines {
			fmt.Fprintf(&b, "%6d\t%s\n", i+1, line)
		}
		return b.String()
	}
	quoted := strings.ReplaceAll(key, "\n", `\n`) + `\n`
	for name, c := range map[string]struct{ text, before, after string }{
		"whole":              {"a\n" + key + "\nb", "a\n", "\nb"},
		"numbered":           {"head\n" + number(lines) + "after it", "head\n     1\t", "\nafter it"},
		"its beginning":      {"head\n" + strings.Join(lines[:4], "\n") + "\n", "head\n", ""},
		"its end":            {"head it is\n" + strings.Join(lines[4:], "\n") + "\ntail", "head it is\n", "\ntail"},
		"with escapes":       {`{"private_key": "` + quoted + `", "x": "y z"}`, `{"private_key": "`, `", "x": "y z"}`},
		"in a search result": {"k.go:1: " + strings.Join(lines, "\nk.go:2: ") + "\n\nnot this", "k.go:1: ", "\n\nnot this"},
		"encrypted": {
			lines[0] + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n" + strings.Join(lines[1:], "\n"), "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spans := s.Scan(c.text)
			if len(spans) != 1 {
				t.Fatalf("%d spans, want one: %q", len(spans), texts(c.text, spans))
			}
			before, after := c.text[:spans[0].Start], c.text[spans[0].End:]
			if trim := `\n` + "\n"; before != c.before || strings.TrimLeft(after, trim) != strings.TrimLeft(c.after, trim) {
				t.Errorf("left before %q, want %q; after %q, want %q", before, c.before, after, c.after)
			}
		})
	}
}

func TestTheDataOfASecretForKubernetesIsFound(t *testing.T) {
	s := scanner(t, Options{Secrets: true})
	text := "apiVersion: v1\ndata:\n  tls.key: " + made(base64, 30) + "\n  user: amFuZQ==\nkind: Secret\nmetadata:\n  name: x\n---\n" +
		"kind: ConfigMap\ndata:\n  user: jane\n"
	finds(t, s, Secret, text, made(base64, 30), "amFuZQ==")
	finds(t, s, Secret, "kind: Secret\nstringData:\n  word: swordfish\ntype: Opaque\n", "swordfish")
	finds(t, s, Secret, "kind: SecretStore\ndata:\n  word: swordfish\n")
}

func TestWhatIsQuotedOfASecretFileIsASecret(t *testing.T) {
	s := scanner(t, Options{Secrets: true, SecretPath: func(p string) bool { return strings.HasSuffix(p, ".env") }})
	finds(t, s, Secret, "a/.env:3: COLOUR=blue\nmain.go:4: COLOUR=red\n./.env:NAME=x y\nb/.env-12-\n", " COLOUR=blue", "NAME=x y")
	finds(t, s, Secret, `C:\x\.env:12:A=b`, "A=b")
	finds(t, s, Secret, "note: the file .env: it is read first\n")
}

func TestNamesOfMembersMakeTheirValuesSecret(t *testing.T) {
	s := scanner(t, Options{Secrets: true})
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"password", "hunter" + "2", true},
		{"dbPassword", "hunter" + "2", true},
		{"api_key", made(alnum, 20) + "7", true},
		{"path", "hunter" + "2", false},
		{"password", "${PASSWORD}", false},
		{"token", "next", false},
		{"content", "a long text about passwords", false},
	} {
		if got := s.Assigned(c.name, c.value); got != c.want {
			t.Errorf("Assigned(%q, %q) = %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

// Every rule of the library must compile, and be run in a way that sees its matches.
func TestEveryRuleCompiles(t *testing.T) {
	l, err := standard()
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for i := range l.detectors {
		if r := l.detectors[i].rule; r != nil {
			rules++
			r.once.Do(r.compile)
			for j := range r.allowed {
				r.allowed[j].once.Do(r.allowed[j].compile)
			}
			if r.width == 0 {
				t.Errorf("%s matches nothing", r.id)
			}
		}
	}
	if rules < 200 {
		t.Errorf("%d rules, want at least 200", rules)
	}
}

func TestALibraryWithoutRulesIsAnError(t *testing.T) {
	for _, text := range []string{"", "title = 'x'", "[[rules]]\nid = 'x'\nregex = 'y'\n", "[[rules"} {
		if l, err := newLibrary(text); err == nil {
			t.Errorf("newLibrary(%q) gave %d detectors", text, len(l.detectors))
		}
	}
}
