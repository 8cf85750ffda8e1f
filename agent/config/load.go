package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// maxFile is the size in bytes up to which a configuration file is read.
const maxFile = 1 << 20

// FlagValue is a flag that was given on the command line.
type FlagValue struct {
	Name  string // as it is typed: "--model"
	Key   string // the key it sets
	Value string
	List  []string // in place of Value, for a key that takes several
}

// Options say where to look.
type Options struct {
	// Lookup reads an environment variable, as os.LookupEnv does. Nil means that none is set.
	Lookup func(name string) (value string, ok bool)
	// Flags win over everything else.
	Flags []FlagValue
	// Folder is the session's folder, whose .wherry/config.toml is read; "" for none.
	Folder string
	// Trust knows which projects are trusted; the zero value trusts none.
	Trust Trust
	// Providers are the ids that may stand below providers; nil for any.
	Providers []string
}

// Load reads the files and puts the settings together. It always gives settings: what is wrong is in their Problems, and
// then the strictest mode and policy are in force, unless a flag or a variable says otherwise.
//
// It reads two small files at most, and is safe for concurrent use.
func Load(o Options) *Settings {
	if o.Lookup == nil {
		o.Lookup = func(string) (string, bool) { return "", false }
	}
	s := &Settings{Providers: map[string]Provider{}, MCP: map[string]Server{}, origins: map[string]Source{}}
	for _, opt := range options() {
		if opt.builtin != "" {
			_ = opt.apply(s, value{text: opt.builtin}) // a test has all of them pass
		}
	}
	l := loader{Options: o, s: s}
	l.global()
	l.project()
	if len(s.Problems) > 0 {
		l.failClosed()
	}
	l.environment()
	l.flags()
	return s
}

type loader struct {
	Options
	s *Settings
}

func (l *loader) home() string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	home, _ := l.Lookup(name)
	return home
}

func (l *loader) global() {
	path, err := DefaultPath(l.Lookup)
	if err != nil {
		// Without a home there is no file; a wrong WHERRY_CONFIG is a mistake.
		if v, _ := l.Lookup("WHERRY_CONFIG"); v != "" {
			l.s.Problems = append(l.s.Problems, &Problem{Text: err.Error()})
		}
		return
	}
	l.s.Commands = filepath.Join(filepath.Dir(path), CommandsFolder)
	data, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		l.s.Problems = append(l.s.Problems, &Problem{Path: path, Text: reason(err)})
		return
	}
	at := place{layer: Global, path: path, home: l.home(), providers: l.Providers}
	found, problems := at.parse(data)
	if len(problems) > 0 {
		l.s.Problems = append(l.s.Problems, problems...)
		return
	}
	l.add(found)
}

func (l *loader) project() {
	if l.Folder == "" {
		return
	}
	p, err := readProject(l.Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		l.s.Project = l.Folder
		l.s.Problems = append(l.s.Problems, &Problem{Path: ProjectPath(l.Folder), Text: reason(err)})
		return
	}
	l.s.Project = l.Folder
	at := place{layer: Project, path: ProjectPath(l.Folder), base: l.Folder, home: l.home(), providers: l.Providers}
	found, problems := at.parse(p.config)
	if len(problems) > 0 {
		l.s.Problems = append(l.s.Problems, problems...)
		return
	}
	trusted, err := l.Trust.knows(l.Folder, p.digest)
	if err != nil { // then nobody is trusted, and the person hears why
		l.s.Problems = append(l.s.Problems, &Problem{Path: l.Trust.path(), Text: reason(err)})
	}
	l.s.Trusted = trusted
	if trusted {
		l.s.ProjectCommands = ProjectCommandsPath(l.Folder)
		l.add(found)
		return
	}
	l.tighten(found)
}

// add lets a layer win over what is there.
func (l *loader) add(from layer) {
	for _, o := range options() {
		if v, ok := from.values[o.key]; ok {
			l.set(o, v)
		}
	}
	for id, p := range from.providers {
		now := l.s.Providers[id]
		if p.BaseURL != "" {
			now.BaseURL = p.BaseURL
		}
		if len(p.Models) > 0 {
			now.Models = p.Models
		}
		l.s.Providers[id] = now
	}
	maps.Copy(l.s.MCP, from.mcp)
	maps.Copy(l.s.origins, from.sources)
}

// set applies a value that was checked when it was read.
func (l *loader) set(o option, v value) {
	if err := o.apply(l.s, v); err != nil {
		l.s.Problems = append(l.s.Problems, &Problem{Text: v.source.String() + ": " + err.Error()})
		return
	}
	l.s.origins[o.key] = v.source
}

// tighten takes of an untrusted project's file what makes things stricter, and notes the rest.
func (l *loader) tighten(from layer) {
	for _, o := range options() {
		v, ok := from.values[o.key]
		if !ok {
			continue
		}
		after := *l.s
		if o.tightens == nil || o.apply(&after, v) != nil || !o.tightens(l.s, &after) {
			l.s.Withheld = append(l.s.Withheld, o.key)
			continue
		}
		l.set(o, v)
	}
	for _, id := range slices.Sorted(maps.Keys(from.providers)) {
		l.s.Withheld = append(l.s.Withheld, "providers."+id)
	}
	for _, name := range slices.Sorted(maps.Keys(from.mcp)) {
		l.s.Withheld = append(l.s.Withheld, "mcp."+name)
	}
}

func (l *loader) failClosed() {
	for _, o := range options() {
		if o.strictest != "" {
			l.set(o, value{text: o.strictest, source: Source{Layer: FailClosed}})
		}
	}
}

func (l *loader) environment() {
	at := place{home: l.home()}
	for _, o := range options() {
		name := o.env()
		text, ok := l.Lookup(name)
		text = strings.TrimSpace(text)
		if !ok || text == "" {
			continue
		}
		v := value{text: text, source: Source{Layer: Environment, Where: name}}
		if o.kind == kindStrings {
			v.list = filepath.SplitList(text)
		}
		switch o.key {
		case "log", "wire_log", "commands":
			v.text = at.absolute(v.text)
		}
		l.override(o, v)
	}
}

func (l *loader) flags() {
	for _, f := range l.Flags {
		o, ok := findOption(f.Key)
		if !ok {
			l.s.Problems = append(l.s.Problems, &Problem{Text: fmt.Sprintf("%s sets %q, which is no key", f.Name, f.Key)})
			continue
		}
		l.override(o, value{text: f.Value, list: f.List, source: Source{Layer: Flag, Where: f.Name}})
	}
}

// override sets a value of the environment or of a flag. A wrong one leaves the strictest.
func (l *loader) override(o option, v value) {
	before := len(l.s.Problems)
	l.set(o, v)
	if len(l.s.Problems) > before && o.strictest != "" {
		l.set(o, value{text: o.strictest, source: Source{Layer: FailClosed}})
	}
}

// readFile reads a small regular file.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: opening a pipe would wait
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

func readAll(f fs.File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, fmt.Errorf("it is larger than %d KB", maxFile>>10)
	}
	return data, err
}

// reason says why a file cannot be used, without the path that is said already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return "it cannot be read: " + err.Error()
}
