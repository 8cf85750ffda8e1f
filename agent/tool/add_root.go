package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

//go:embed add_root.md
var addRootDescription string

// Folders are the session's folders.
type Folders interface {
	// Add lets the session work in a further folder, absolute and resolved, from the next call on.
	Add(ctx context.Context, abs string) error
}

// FolderView is a folder that is to be added to the session, as a person must see it.
type FolderView struct {
	Path   string `json:"path"`            // absolute, symlinks resolved
	Whole  string `json:"whole,omitzero"`  // what it is when it is more than a project: "your whole home folder"
	Reason string `json:"reason,omitzero"` // the model's
}

type addRootArgs struct {
	Path   string `json:"path" jsonschema:"The folder: absolute, below ~, or relative to the working folder."`
	Reason string `json:"reason" jsonschema:"What you need it for, one sentence for the person."`
}

func addRootTool() Tool {
	return New(Spec{Name: "add_root", Description: addRootDescription, Needs: []host.Capability{host.CanRead}}, prepareAddRoot)
}

func prepareAddRoot(_ context.Context, env Env, args addRootArgs) (Call, error) {
	path := strings.TrimSpace(args.Path)
	if path == "" {
		return nil, errors.New(`"path" is empty: name a folder`)
	}
	home, homeErr := os.UserHomeDir()
	if path == "~" || strings.HasPrefix(path, "~/") {
		if homeErr != nil {
			return nil, fmt.Errorf("%s: there is no home folder here: give an absolute path", path)
		}
		path = filepath.Join(home, strings.TrimPrefix(path, "~"))
	}
	p, err := env.Host.Resolve(path)
	var outside *host.OutsideError
	switch {
	case err == nil:
		return nil, fmt.Errorf("%s: is in the session's folder %s already: just use it", args.Path, p.Root)
	case !errors.As(err, &outside):
		return nil, err
	}
	info, err := os.Stat(outside.Abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such folder", args.Path)
	case err != nil:
		return nil, fmt.Errorf("%s: this folder cannot be opened", args.Path)
	case !info.IsDir():
		return nil, fmt.Errorf("%s: is a file; name the folder that it is in", args.Path)
	}
	view := FolderView{Path: outside.Abs, Whole: wholeOf(outside.Abs, home), Reason: clip(strings.Join(strings.Fields(cleanText(args.Reason)), " "), maxQuestion)}
	return &prepared{
		shown: Presentation{Class: approval.ClassWiden, Title: oneLine("Work in", view.Path, "too"), Kind: KindOther, Folder: &view},
		run: func(ctx context.Context, _ Output) Result {
			if err := env.Folders.Add(ctx, view.Path); err != nil {
				return Failure("add_root: " + err.Error())
			}
			return Result{Text: "The session works in " + view.Path + " too from now on. Use absolute paths there.", Display: "The session works in `" + view.Path + "` too."}
		},
	}, nil
}

// wholeOf says what a folder is that is more than anybody means by a project.
func wholeOf(abs, home string) string {
	if filepath.Dir(abs) == abs {
		return "the whole file system"
	}
	if resolved, err := filepath.EvalSymlinks(home); err == nil && home != "" {
		switch rel, err := filepath.Rel(abs, resolved); {
		case err != nil:
		case rel == ".":
			return "your whole home folder"
		case rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)):
			return "a folder with your whole home folder in it"
		}
	}
	return ""
}
