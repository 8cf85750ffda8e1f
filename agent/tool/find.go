package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

//go:embed find.md
var findDescription string

const maxFound = 1000 // files

type findArgs struct {
	Pattern string `json:"pattern" jsonschema:"A glob such as **/*_test.go, or a part of the path."`
	Path    string `json:"path,omitzero" jsonschema:"The folder to look in; the working folder when left out."`
}

func findTool() Tool {
	return New(Spec{Name: "find", Description: findDescription, Needs: []host.Capability{host.CanRead}, ReadOnly: true}, prepareFind)
}

func prepareFind(ctx context.Context, env Env, args findArgs) (Call, error) {
	place, err := resolveFolder(ctx, env.Host, args.Path)
	if err != nil {
		return nil, err
	}
	match, err := pathMatcher(args.Pattern, place)
	if err != nil {
		return nil, err
	}
	title := oneLine("Find", args.Pattern)
	if place.Rel != "." {
		title = oneLine("Find", args.Pattern, "in", place.Show)
	}
	return &prepared{
		shown: Presentation{Class: approval.ClassRead, Title: title, Kind: KindSearch},
		run: func(ctx context.Context, _ Output) Result {
			var found []string
			count := 0
			err := env.Host.Walk(ctx, place.Show, func(info host.Info) error {
				if match(info.Path) {
					if count++; count <= maxFound {
						found = append(found, info.Path.Show)
					}
				}
				return nil
			})
			if err != nil {
				return Failure("find: " + err.Error())
			}
			text := strings.Join(append([]string{fmt.Sprintf("%d files match %q", count, args.Pattern)}, found...), "\n")
			if count > maxFound {
				text += fmt.Sprintf("\n… %d more files; a narrower pattern or path shows them", count-maxFound)
			}
			return Result{Text: text}
		},
	}, nil
}

// pathMatcher gives the test for a pattern: a glob is matched against the path below the folder at place, or against the
// name alone when it has no slash; anything else is looked for in that path, whatever the case.
func pathMatcher(pattern string, place host.Path) (func(host.Path) bool, error) {
	glob := filepath.ToSlash(pattern)
	if rest, ok := strings.CutPrefix(glob, filepath.ToSlash(place.Abs)+"/"); ok {
		glob = rest
	}
	glob = strings.TrimPrefix(glob, "./")
	if glob == "" {
		return nil, errors.New(`"pattern" is empty: give a glob such as **/*.go, or a part of the path`)
	}
	below := func(p host.Path) string {
		if place.Rel == "." {
			return p.Rel
		}
		return strings.TrimPrefix(p.Rel, place.Rel+"/")
	}
	if !strings.ContainsAny(glob, "*?[{") {
		part := strings.ToLower(glob)
		return func(p host.Path) bool { return strings.Contains(strings.ToLower(below(p)), part) }, nil
	}
	if !doublestar.ValidatePattern(glob) {
		return nil, fmt.Errorf("the pattern %q is not a valid glob: a bracket or brace is not closed", pattern)
	}
	if !strings.Contains(glob, "/") {
		return func(p host.Path) bool { return doublestar.MatchUnvalidated(glob, path.Base(p.Rel)) }, nil
	}
	glob = strings.TrimPrefix(glob, "/")
	return func(p host.Path) bool { return doublestar.MatchUnvalidated(glob, below(p)) }, nil
}
