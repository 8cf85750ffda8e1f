//go:build !unix

package acp_test

// playAgent has no agents to play: the tests that start processes are for Unix.
func playAgent(string) {}
