// Package interop holds tests that run programs other people wrote against the real wherry command: the official
// TypeScript SDK, acpx and the client of another Go SDK drive `wherry acp`, and our client drives agents made with other
// SDKs. Beside them a raw JSON-RPC client, which shares no code with package acp, checks promises of the agent that need
// a client which misbehaves on purpose.
//
// Every message the agent sends is recorded and checked against the protocol's official JSON schema.
//
// `make interop` installs what the tests need and runs them.
package interop
