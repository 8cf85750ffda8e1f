package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

//go:embed search.md
var searchDescription string

type searchArgs struct {
	Pattern    string `json:"pattern" jsonschema:"The text to look for, or a regular expression when regex is true."`
	Path       string `json:"path,omitzero" jsonschema:"The folder or file to look in; the working folder when left out."`
	Regex      bool   `json:"regex,omitzero" jsonschema:"The pattern is a regular expression (RE2 syntax)."`
	IgnoreCase bool   `json:"ignore_case,omitzero" jsonschema:"Upper and lower case are the same."`
	Include    string `json:"include,omitzero" jsonschema:"Only files that match this glob, such as *.go."`
}

func searchTool() Tool {
	return New(Spec{Name: "search", Description: searchDescription, Needs: []host.Capability{host.CanRead}, ReadOnly: true}, prepareSearch)
}

func prepareSearch(ctx context.Context, env Env, args searchArgs) (Call, error) {
	if args.Path == "" {
		args.Path = "."
	}
	info, err := env.Host.Stat(ctx, args.Path)
	if err != nil {
		return nil, err
	}
	place := info.Path
	if !info.Dir && SecretPath(place.Abs) {
		return nil, fmt.Errorf("%s: usually holds secrets, so it is not searched; view asks the person for it", place.Show)
	}
	matcher, err := newLineMatcher(args.Pattern, args.Regex, args.IgnoreCase)
	if err != nil {
		return nil, err
	}
	included := func(host.Path) bool { return true }
	if args.Include != "" && info.Dir {
		glob := args.Include
		if !strings.ContainsAny(glob, "*?[{") {
			glob = "{" + glob + ",**/" + glob + "/**}" // a file's or folder's name
		}
		if included, err = pathMatcher(glob, place); err != nil {
			return nil, fmt.Errorf(`"include": %w`, err)
		}
	}
	title := oneLine("Search", args.Pattern)
	if place.Rel != "." {
		title = oneLine("Search", args.Pattern, "in", place.Show)
	}
	shown := Presentation{Class: approval.ClassRead, Title: title, Kind: KindSearch}
	if !info.Dir {
		shown.Locations = []Location{{Path: place.Abs}}
	}
	return &prepared{shown: shown, run: func(ctx context.Context, _ Output) Result {
		s := newSearch(env.Host, matcher)
		err := s.run(ctx, place.Show, included)
		if err != nil && !errors.Is(err, fs.SkipAll) {
			return Failure("search: " + err.Error())
		}
		return Result{Text: s.render()}
	}}, nil
}
