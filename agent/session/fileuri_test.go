package session_test

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/wherry-acp/wherry/agent/session"
)

func TestAFileURIGivesPathLinesAndSymbol(t *testing.T) {
	for uri, want := range map[string]session.FileRef{
		"file:///w/a.go":                       {Path: "/w/a.go"},
		"file:///w/a.go#L23:27":                {Path: "/w/a.go", From: 23, To: 27},
		"file:///w/a.go#L15-L21":               {Path: "/w/a.go", From: 15, To: 21},
		"file:///w/a.go#L15-21":                {Path: "/w/a.go", From: 15, To: 21},
		"file:///w/a.go#L9:5":                  {Path: "/w/a.go", From: 5, To: 9},
		"file:///w/a.go#L0":                    {Path: "/w/a.go", From: 1, To: 1},
		"file:///w/a.go?symbol=run#L5:9":       {Path: "/w/a.go", From: 5, To: 9, Symbol: "run"},
		"file:///w/a.go?symbol=Map%3CK%3E":     {Path: "/w/a.go", Symbol: "Map<K>"},
		"file:///w/a%20b%23c%25%2B+%C3%BC.go":  {Path: "/w/a b#c%++ü.go"},
		"file:///w/%2e%2e/x":                   {Path: "/w/../x"},
		"FILE://localhost/w/a.go#section":      {Path: "/w/a.go"},
		"file:///C:/Users/a.go#L1":             {Path: "C:/Users/a.go", From: 1, To: 1},
		"file:///w/a.go#L99999999999999999999": {Path: "/w/a.go"},
		"file:///w/folder/":                    {Path: "/w/folder/"},
	} {
		want.Path = filepath.FromSlash(want.Path)
		if got, ok := session.ParseFileURI(uri); !ok || got != want {
			t.Errorf("%s: %+v %t", uri, got, ok)
		}
	}
	for _, uri := range []string{
		"", "a.go", "/w/a.go", "https://host/w/a.go", "file://server/share/a.go", "file:a.go", "zed:///agent/file?path=/w/a.go",
		"file:///w/%zz", "file:///w/a%00b", "file://", "untitled:///w/a.go",
	} {
		if got, ok := session.ParseFileURI(uri); ok {
			t.Errorf("%q is a file: %+v", uri, got)
		}
	}
}

func FuzzParseFileURI(f *testing.F) {
	for _, uri := range []string{"file:///w/a.go?symbol=x#L5:9", "file:///C:/x#L1", "file://localhost/%C3%BC", "file:///a%00", "https://x"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		ref, ok := session.ParseFileURI(uri)
		if !ok {
			if ref != (session.FileRef{}) {
				t.Errorf("%q: refused with %+v", uri, ref)
			}
			return
		}
		if ref.Path == "" || (ref.From == 0) != (ref.To == 0) || ref.From > ref.To || ref.From < 0 {
			t.Errorf("%q: %+v", uri, ref)
		}
		again, ok := session.ParseFileURI((&url.URL{Scheme: "file", Path: "/" + filepath.ToSlash(ref.Path)}).String())
		if !ok || filepath.Clean("/"+again.Path) != filepath.Clean("/"+ref.Path) {
			t.Errorf("%q: %q is %+v when written again", uri, ref.Path, again)
		}
	})
}
