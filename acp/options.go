package acp

import (
	"log/slog"
	"time"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
	"github.com/wherry-acp/wherry/acp/transport"
)

// Version1 is the protocol version that this package speaks.
const Version1 ProtocolVersion = 1

// A Transport carries messages; see package transport.
type Transport = transport.Transport

// A Direction says which way a message went.
type Direction = jsonrpc.Direction

// The directions.
const (
	Incoming = jsonrpc.Incoming
	Outgoing = jsonrpc.Outgoing
)

// Options are those that both sides of a connection have. The zero value is ready to use.
type Options struct {
	// Logger gets what is worth knowing; never params, frames or headers. Nil discards.
	Logger *slog.Logger

	// Unstable switches on the methods, fields and variants that the protocol has not
	// made stable. While it is off they are answered "method not found", refused locally,
	// and never written.
	Unstable bool

	// MaxMessageBytes limits one incoming message where this package makes the
	// transport (ServeStdio, Spawn); 0 means 32 MiB.
	MaxMessageBytes int

	// MaxRequests limits the request handlers running at a time; 0 means 1,024. Further
	// requests wait.
	MaxRequests int

	// InboundBytes limits what has been received and not yet handled; 0 means 64 MiB.
	// Beyond it reading waits.
	InboundBytes int

	// OutboundBytes limits what has been sent and not yet written; 0 means 4 MiB. Beyond
	// it senders wait, within their contexts.
	OutboundBytes int

	// WriteTimeout ends the connection when one write makes no progress for this long; 0
	// means never.
	WriteTimeout time.Duration

	// Tap sees every message of the connection, in order for each direction. It must be
	// quick; message is valid during the call.
	Tap func(dir Direction, at time.Time, message []byte)

	// Garbage sees every incoming message that could not be used, for example a line of
	// log output, and why. message is valid during the call.
	Garbage func(message []byte, problem string)

	// OnLenient is told of each part of a received message that was invalid and left
	// out, as the protocol allows for optional parts. Nil logs it at debug level.
	OnLenient func(path, reason string)

	// ExposeError decides which errors of handlers the peer may see: the result, if not
	// nil, is sent instead of "Internal error".
	ExposeError func(error) *RequestError
}

func (o *Options) wire() *jsonrpc.Options {
	return &jsonrpc.Options{
		Logger:        o.Logger,
		MaxRequests:   o.MaxRequests,
		InboundBytes:  o.InboundBytes,
		OutboundBytes: o.OutboundBytes,
		WriteTimeout:  o.WriteTimeout,
		Tap:           o.Tap,
		Garbage:       o.Garbage,
	}
}

func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

func (o *Options) codec() Codec {
	lenient := o.OnLenient
	if lenient == nil && o.Logger != nil {
		log := o.Logger
		lenient = func(path, reason string) { log.Debug("left out", "path", path, "reason", reason) }
	}
	return Codec{Unstable: o.Unstable, TolerateUpdates: true, OnLenient: lenient}
}
