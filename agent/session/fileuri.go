package session

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// FileRef is a place in a file, as a link of an editor gives it.
type FileRef struct {
	Path     string // absolute
	From, To int    // lines, counted from 1, both included; 0 for the whole file
	Symbol   string // the name of what is at the place; empty for none
}

// ParseFileURI reads a file URI of this machine. Lines are given as #L5, #L5:9, #L5-9 or #L5-L9, a symbol as ?symbol=name;
// what else stands there is passed over. It is false for all other URIs.
func ParseFileURI(uri string) (FileRef, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		return FileRef{}, false
	}
	p := u.Path
	if len(p) > 2 && p[0] == '/' && p[2] == ':' { // file:///C:/x
		p = p[1:]
	} else if !strings.HasPrefix(p, "/") {
		return FileRef{}, false
	}
	if strings.ContainsRune(p, 0) {
		return FileRef{}, false
	}
	ref := FileRef{Path: filepath.FromSlash(p), Symbol: u.Query().Get("symbol")}
	ref.From, ref.To = lineRange(u.Fragment)
	return ref, true
}

// lineRange reads the lines of a URI's fragment; 0 for none.
func lineRange(fragment string) (from, to int) {
	m := regexp.MustCompile(`^L(\d{1,9})(?:[:-]L?(\d{1,9}))?$`).FindStringSubmatch(fragment)
	if m == nil {
		return 0, 0
	}
	from, _ = strconv.Atoi(m[1])
	to = from
	if m[2] != "" {
		to, _ = strconv.Atoi(m[2])
	}
	return max(min(from, to), 1), max(from, to, 1)
}
