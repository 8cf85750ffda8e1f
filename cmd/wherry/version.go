package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/wherry-acp/wherry/acp"
)

// release is the version of the source; a build of a tagged module says its own.
const release = "0.1.0-dev"

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			return v
		}
	}
	return release
}

func implementation(name, title string) acp.Implementation {
	return acp.Implementation{Name: name, Title: title, Version: version()}
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(env *environment) error {
	_, err := fmt.Fprintf(env.stdout, "wherry %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
