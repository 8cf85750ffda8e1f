package remote

import "time"

// Headers of the protocol.
const (
	// HeaderConnectionID names the connection, in the answer to initialize and in every request after it.
	HeaderConnectionID = "Acp-Connection-Id"

	// HeaderSessionID names the session that a request is about.
	HeaderSessionID = "Acp-Session-Id"
)

const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"

	methodInitialize = "initialize"
	methodLoad       = "session/load"
	methodResume     = "session/resume"
)

// Defaults of the options; those of the protocol's reference implementation where it has them.
const (
	DefaultMaxBodyBytes       = 16 << 20         // bytes of one message to a server
	DefaultMaxBufferedBytes   = 64 << 20         // bytes that wait for a client
	DefaultMaxBufferedStreams = 1024             // sessions with messages that nobody reads
	DefaultMaxIDLength        = 1024             // UTF-16 units of an id
	DefaultMaxConnections     = 1024             // of one handler
	DefaultStallTimeout       = 60 * time.Second // for a chunk of output to be taken
	DefaultKeepAlive          = 15 * time.Second // between comments on an idle event stream
	DefaultPingInterval       = 25 * time.Second // between pings of a WebSocket
	DefaultDetachTimeout      = 10 * time.Minute // life of a connection without a stream
)

const (
	writeChunk   = 16 << 10 // bytes written before the stall timer starts anew
	batchBytes   = 64 << 10 // bytes of messages flushed together
	maxErrorBody = 8 << 10  // bytes kept of the body of a refused request
)

// ofSession reports whether a method is about a session, so that its request must name it in the header.
func ofSession(method string) bool {
	switch method {
	case "session/cancel", "session/close", "session/delete", "session/fork", methodLoad, "session/prompt", methodResume,
		"session/set_config_option", "session/set_mode", "session/set_model":
		return true
	}
	return false
}

// units counts UTF-16 units.
func units(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}
