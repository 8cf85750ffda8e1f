// Package interop holds tests that run programs other people wrote against ours, in both roles. The official TypeScript and
// Python SDKs, acpx, acp-factory and the client of another Go SDK drive `wherry acp`, the example agent and an agent of our
// SDK; our client drives agents that the official SDKs and another Go SDK made. Beside them a raw JSON-RPC client, which
// shares no code with package acp, checks promises of the agent that need a client which misbehaves on purpose.
//
// Every message that an agent of ours sends is recorded and checked against the protocol's official JSON schema.
//
// `make interop` installs what the tests need and runs them. `make interop-all` runs whole coding agents, see the program
// in the folder agents.
package interop
