package process

import (
	"os"
	"strings"
)

// inherited are the variables that a program needs to find its way: paths, locale,
// terminal, temporary folders, proxies and certificates. Keys and tokens are not among
// them.
var inherited = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "TMPDIR", "TMP", "TEMP", "PWD",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "HOMEDRIVE", "HOMEPATH",
}

// Environment returns those of this program's variables that a child process gets when
// its command has no environment of its own: paths, locale, proxies and the like, but no
// keys and tokens.
func Environment() []string {
	env := []string{}
	for _, entry := range os.Environ() {
		name, _, ok := strings.Cut(entry, "=")
		if ok && passes(strings.ToUpper(name)) {
			env = append(env, entry)
		}
	}
	return env
}

func passes(name string) bool {
	if strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") {
		return true
	}
	for _, n := range inherited {
		if n == name {
			return true
		}
	}
	return false
}
