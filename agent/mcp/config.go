package mcp

import (
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// Transport is how a server is reached.
type Transport string

// The transports.
const (
	TransportStdio Transport = "stdio" // a program that is started, and spoken to through its standard streams
	TransportHTTP  Transport = "http"  // streamable HTTP
	TransportSSE   Transport = "sse"   // HTTP with server-sent events, from before streamable HTTP
)

// Trust is what a server's own word counts for. It changes nothing about what the gate allows, only what a call is said to be.
type Trust string

// The levels of trust.
const (
	// TrustAsk counts for nothing: every call asks, in every mode. It is the zero value's meaning.
	TrustAsk Trust = "ask"
	// TrustHints believes a tool that says it only reads: calls of it are reads; those of others are like commands. It is for servers that the person wrote
	// into the own configuration, never for those that an editor or a project brought.
	TrustHints Trust = "trusted"
)

// The limits where a [Server] sets none.
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultCallTimeout  = 5 * time.Minute
)

// maxServerName bounds a server's name, in characters.
const maxServerName = 128

// Server says how a server is reached. It holds secrets: printing or logging it shows the names of its variables and
// headers, and no values.
type Server struct {
	Name      string
	Transport Transport // empty means stdio when Command is set, else http

	// Of stdio servers.
	Command string            // a program in the PATH, or a path
	Args    []string          // as they are: no shell reads them
	Env     map[string]string // added to the environment that the agent's commands have

	// Of http and sse servers. The headers go to the origin of the URL and nowhere else.
	URL     string
	Headers map[string]string

	Trust        Trust         // empty means [TrustAsk]
	StartTimeout time.Duration // from the start until the tools are known; 0 means [DefaultStartTimeout]
	CallTimeout  time.Duration // of one call of a tool; 0 means [DefaultCallTimeout]
}

// transport gives the transport with its default.
func (s Server) transport() Transport {
	switch {
	case s.Transport != "":
		return s.Transport
	case s.Command != "":
		return TransportStdio
	}
	return TransportHTTP
}

// Validate tells what is wrong with the server, with a sentence that begins with the field's name and holds no value of a
// variable or header.
func (s Server) Validate() error {
	if err := validName(s.Name); err != nil {
		return err
	}
	switch s.Trust {
	case "", TrustAsk, TrustHints:
	default:
		return fmt.Errorf("trust: %q is not known: use %q or %q", s.Trust, TrustAsk, TrustHints)
	}
	if s.StartTimeout < 0 {
		return fmt.Errorf("startTimeout: %s is less than nothing", s.StartTimeout)
	}
	if s.CallTimeout < 0 {
		return fmt.Errorf("callTimeout: %s is less than nothing", s.CallTimeout)
	}
	switch s.transport() {
	case TransportStdio:
		return s.validProgram()
	case TransportHTTP, TransportSSE:
		return s.validRemote()
	}
	return fmt.Errorf("transport: %q is not known: use %q, %q or %q", s.Transport, TransportStdio, TransportHTTP, TransportSSE)
}

func validName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("name: is empty")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("name: %q has characters that cannot be shown", name)
	case utf8.RuneCountInString(name) > maxServerName:
		return fmt.Errorf("name: is longer than %d characters", maxServerName)
	}
	return nil
}

func (s Server) validProgram() error {
	if strings.TrimSpace(s.Command) == "" {
		return fmt.Errorf("command: is empty: a stdio server is a program to start")
	}
	for field, values := range map[string][]string{"command": {s.Command}, "args": s.Args} {
		if slices.ContainsFunc(values, func(v string) bool { return strings.ContainsRune(v, 0) }) {
			return fmt.Errorf("%s: has a NUL character, which no program takes", field)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: %q cannot be the name of a variable", name)
		}
		if strings.ContainsRune(s.Env[name], 0) {
			return fmt.Errorf("env: the value of %s has a NUL character, which no program takes", name)
		}
	}
	return nil
}

func (s Server) validRemote() error {
	if s.URL == "" {
		return fmt.Errorf("url: is empty: a server over %s has an address", s.transport())
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil: // the error has the whole address, and perhaps a key in it
		return fmt.Errorf("url: cannot be read as an address")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("url: must begin with http:// or https://")
	case u.Host == "":
		return fmt.Errorf("url: names no host")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("headers: %q cannot be the name of a header", name)
		}
		if !httpguts.ValidHeaderFieldValue(s.Headers[name]) {
			return fmt.Errorf("headers: the value of %s has characters that no header takes", name)
		}
	}
	return nil
}

// withDefaults fills in the limits.
func (s Server) withDefaults() Server {
	s.Transport = s.transport()
	if s.Trust == "" {
		s.Trust = TrustAsk
	}
	if s.StartTimeout == 0 {
		s.StartTimeout = DefaultStartTimeout
	}
	if s.CallTimeout == 0 {
		s.CallTimeout = DefaultCallTimeout
	}
	return s
}

// String describes the server without its secrets: its name, how it is reached, and the names of variables and headers.
func (s Server) String() string {
	switch s.transport() {
	case TransportStdio:
		return fmt.Sprintf("%s (stdio, %s, env %v)", s.Name, s.Command, slices.Sorted(maps.Keys(s.Env)))
	default:
		return fmt.Sprintf("%s (%s, %s, headers %v)", s.Name, s.transport(), origin(s.URL), slices.Sorted(maps.Keys(s.Headers)))
	}
}

// GoString is [Server.String]: no way of printing shows the secrets.
func (s Server) GoString() string { return s.String() }

// LogValue is [Server.String]: no log shows the secrets.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// origin gives the scheme, host and port of an address, and nothing of what comes after.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return originOf(u)
}

func originOf(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return u.Scheme + "://" + host + ":" + port
}
