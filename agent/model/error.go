package model

import (
	"fmt"
	"time"
)

// ErrorKind sorts provider errors by what the caller can do about them.
type ErrorKind string

// The kinds.
const (
	ErrAuth        ErrorKind = "auth"         // no key, a wrong or an expired one
	ErrRateLimit   ErrorKind = "rate_limit"   // too many requests just now
	ErrQuota       ErrorKind = "quota"        // the account has nothing left
	ErrOverloaded  ErrorKind = "overloaded"   // the provider is busy
	ErrServer      ErrorKind = "server"       // any other 5xx
	ErrBadRequest  ErrorKind = "bad_request"  // the provider refused the request
	ErrNotFound    ErrorKind = "not_found"    // no such model or endpoint
	ErrContextFull ErrorKind = "context_full" // the conversation is longer than the model's window
	ErrNetwork     ErrorKind = "network"      // the provider was not reached
	ErrCut         ErrorKind = "cut"          // the stream ended before the answer did
	ErrStalled     ErrorKind = "stalled"      // no byte came for the idle time-out
	ErrGarbage     ErrorKind = "garbage"      // what came back is not the provider's format
)

// Error is a provider's failure as a sentence a person understands. It never holds keys, headers or prompt text.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int           // HTTP status, 0 if none
	Message    string        // what happened and what to do, one or two sentences
	RetryAfter time.Duration // what the provider asked for; 0 if it did not
	Err        error         // the cause, for the log only
}

// Error is the message with the provider in front.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Provider, e.Message) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary tells whether trying again later, with the same request, can help.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case ErrRateLimit, ErrOverloaded, ErrServer, ErrNetwork, ErrCut, ErrStalled:
		return true
	}
	return false
}
