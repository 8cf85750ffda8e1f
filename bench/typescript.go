package main

import (
	"context"
	"path/filepath"
	"time"
)

// typeScriptPair is a pair of the official TypeScript SDK, two processes; ts/client.mjs does the measuring.
type typeScriptPair struct{ *nodeProgram }

func newTypeScriptPair(node, folder string) func(ctx context.Context) (pair, error) {
	return func(ctx context.Context) (pair, error) {
		p, err := startNode(ctx, node, filepath.Join(folder, "client.mjs"))
		return typeScriptPair{p}, err
	}
}

func (t typeScriptPair) turns(_ context.Context, sessions, updates int) (time.Duration, error) {
	return t.command("turns", sessions, updates)
}

func (t typeScriptPair) trips(_ context.Context, requests, inFlight int) (time.Duration, error) {
	return t.command("trips", requests, inFlight)
}

func (t typeScriptPair) command(name string, a, b int) (time.Duration, error) {
	ms, err := t.ask(name, a, b)
	return time.Duration(ms * float64(time.Millisecond)), err
}

// startTypeScriptCodec starts what measures the TypeScript SDK in one process.
func startTypeScriptCodec(ctx context.Context, node, folder string) (*nodeProgram, error) {
	return startNode(ctx, node, "--expose-gc", filepath.Join(folder, "codec.mjs"))
}

// idleTypeScript gives the memory, in bytes, that a connection of the TypeScript SDK takes at rest: what is alive on the
// heap and outside of it.
func idleTypeScript(node, folder string) func(ctx context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		p, err := startTypeScriptCodec(ctx, node, folder)
		if err != nil {
			return 0, err
		}
		defer p.close()
		return p.ask("idle", idleConnections/10)
	}
}
