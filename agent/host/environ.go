package host

import (
	"path/filepath"
	"slices"
	"strings"
)

// quiet is what every command's environment has, so that no program waits for a person: no pager, no editor, no prompt, no
// colours. CI is not set: programs change more by it than how they talk (lock files, snapshots, warnings as errors).
func quiet() []string {
	return []string{
		"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=",
		"EDITOR=true", "VISUAL=true", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true",
		"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never",
		"TERM=dumb", "NO_COLOR=1",
	}
}

// CleanEnviron gives environ (KEY=VALUE) as every program of the agent gets it: without variables that look like secrets,
// but those that pass names, and with those that keep programs from waiting for a person.
func CleanEnviron(environ, pass []string) []string {
	out := make([]string, 0, len(environ)+16)
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if ok && (!LooksSecret(name) || slices.Contains(pass, name)) {
			out = append(out, entry)
		}
	}
	return append(out, quiet()...)
}

// LooksSecret tells whether an environment variable of this name is likely to hold a secret: a word of it is KEY, TOKEN, SECRET,
// PASSWORD or the like, or ends so (GITHUBTOKEN). MONKEY and TOKENIZERS_PARALLELISM are not.
func LooksSecret(name string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		word = strings.TrimSuffix(word, "S")
		switch word {
		case "KEY", "PASS", "PASSWD", "PASSPHRASE", "PAT", "CREDENTIAL", "PAS": // "PASS" less its last S is "PAS"
			return true
		}
		for _, end := range []string{"APIKEY", "ACCESSKEY", "PRIVATEKEY", "SECRETKEY", "TOKEN", "SECRET", "PASSWORD"} {
			if strings.HasSuffix(word, end) {
				return true
			}
		}
	}
	return false
}

// lookup gives the last value of a variable in environ.
func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// posixShell tells whether the program at path understands the POSIX shell language.
func posixShell(path string) bool {
	switch filepath.Base(path) {
	case "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "yash":
		return filepath.IsAbs(path)
	}
	return false
}
