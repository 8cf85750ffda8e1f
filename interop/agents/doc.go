//go:build linux

// Agents runs coding agents that other people made and drives them with our client, each with a double of its hosted
// model behind it:
//
//	go run ./interop/agents            all of them
//	go run ./interop/agents codex-acp  only these
//
// It installs each agent from its lock file into .cache/agents, gives it a home of its own, and tries one thing after
// another: a turn with a permission, files and terminals of the client, a refusal, a cancel, loading the session in a new
// process, the end of all its processes. It also checks that nothing the agent sent was lost or changed on its way to the
// caller. The end is a table; the exit status is 0 only if nothing failed. What went over the wire is kept in
// .cache/agents/wire.
//
// An agent that cannot be installed or started has failed, with the reason: nothing is skipped in silence.
package main
