//go:build !unix

package clienthost

// noWait has no meaning here.
const noWait = 0
