package tool

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

//go:embed list.md
var listDescription string

const maxListed = 1000 // entries

type listArgs struct {
	Path string `json:"path,omitzero" jsonschema:"The folder; the working folder when left out."`
}

func listTool() Tool {
	return New(Spec{Name: "list", Description: listDescription, Needs: []host.Capability{host.CanRead}, ReadOnly: true}, prepareList)
}

func prepareList(ctx context.Context, env Env, args listArgs) (Call, error) {
	place, err := resolveFolder(ctx, env.Host, args.Path)
	if err != nil {
		return nil, err
	}
	return &prepared{
		shown: Presentation{Class: approval.ClassRead, Title: oneLine("List", place.Show), Kind: KindRead},
		run: func(ctx context.Context, _ Output) Result {
			entries, err := env.Host.List(ctx, place.Show)
			if err != nil {
				return Failure("list: " + err.Error())
			}
			return Result{Text: renderList(place.Show, entries)}
		},
	}, nil
}

// resolveFolder resolves the path of an existing folder; empty stands for the working folder.
func resolveFolder(ctx context.Context, h host.Host, name string) (host.Path, error) {
	if name == "" {
		name = "."
	}
	info, err := h.Stat(ctx, name)
	if err != nil {
		return host.Path{}, err
	}
	if !info.Dir {
		return host.Path{}, fmt.Errorf("%s: is a file, not a folder", name)
	}
	return info.Path, nil
}

func renderList(show string, entries []host.Info) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s/ (%d entries)", strings.TrimSuffix(show, "/"), len(entries))
	for i, entry := range entries {
		if i == maxListed {
			fmt.Fprintf(&out, "\n… %d more entries; find looks for files by name", len(entries)-i)
			break
		}
		name := path.Base(entry.Path.Rel)
		if entry.Dir {
			fmt.Fprintf(&out, "\n%s/", name)
		} else {
			fmt.Fprintf(&out, "\n%s\t%d", name, entry.Size)
		}
	}
	return out.String()
}
