//go:build unix

package host

// modes is what the test binary does, and nothing else, when it is called with one of these words first.
var modes = map[string]func(args []string) (exit int){"write-limited": writeLimited, "own-group": startOwnGroup}
