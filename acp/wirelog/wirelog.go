// Package wirelog is the record of a connection: every frame that went over it, with its
// time and direction, one JSON object a line. A [Writer] takes the frames of a connection
// from acp.Options.Tap, without ever holding the connection up; a [Reader] reads them
// back, to show or to replay them.
//
// The first line is the [Header]; each further line is a [Record]:
//
//	{"format":"acp-wirelog","version":1,"side":"client","program":"edit 2.1","start":"2026-05-01T10:00:00Z","redact":"secrets"}
//	{"t":1500,"dir":"out","msg":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}}
//	{"t":2700,"dir":"in","raw":"a line of log output"}
//	{"t":2800,"dir":"in","problem":"not JSON"}
//	{"t":9000,"dropped":3}
//
// "t" counts nanoseconds since the start. "dir" is seen from the side that the header
// names. "msg" is a frame as it was sent, except for what was redacted; what is not JSON
// is "raw" if it is text and "raw64" (base64) if it is not. A "problem" belongs to the
// frame before it in the same direction, or, if it has "raw" itself, to a frame that was
// too large to be taken in. "dropped" counts frames that came faster than they could be
// written. Readers ignore members that they do not know.
//
// A log holds prompts, file contents and command output unless [RedactContents] hides them.
// What looks like a secret is hidden unless [RedactNothing] says otherwise; a secret that is cut in
// two by streaming, or that looks like nothing in particular, is not recognised.
package wirelog

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
)

// Format is the name of the format, in the header of each log.
const Format = "acp-wirelog"

// Version is the version of the format that this package writes, and the highest that it
// reads.
const Version = 1

// A Side says whose connection a log records.
type Side string

// The sides.
const (
	Agent  Side = "agent"
	Client Side = "client"
)

// A Redaction says what a log leaves out.
type Redaction uint8

const (
	// RedactSecrets hides what looks like a secret: the values of environment variables and
	// headers, members whose names speak of keys, tokens, passwords, cookies or
	// accounts, and keys, tokens, private key blocks and passwords in URLs anywhere in a
	// string. A hidden string becomes "[redacted]", a hidden number 0.
	RedactSecrets Redaction = iota

	// RedactContents hides every string besides: each of its characters becomes an x. Kept are
	// method names, request ids and the protocol's own words; identifiers are replaced
	// by others, the same for the same within a log. Numbers and the names of members
	// are kept.
	RedactContents

	// RedactNothing hides nothing.
	RedactNothing
)

// String returns the name that the header has.
func (r Redaction) String() string {
	switch r {
	case RedactSecrets:
		return "secrets"
	case RedactContents:
		return "contents"
	case RedactNothing:
		return "none"
	}
	return fmt.Sprintf("Redaction(%d)", uint8(r))
}

// A Header is the first line of a log.
type Header struct {
	Version int       // of the format
	Side    Side      // whose connection it is
	Program string    // the program that wrote the log, with its version
	Start   time.Time // when record time 0 was
	Redact  string    // what was left out: the String of a Redaction
}

// A Record is one line of a log.
type Record struct {
	At  time.Duration // since the header's Start
	Dir acp.Direction // seen from the header's Side; meaningless if Dropped is set

	Msg     jsontext.Value // the frame; nil if it was not JSON or the record has none
	Raw     []byte         // the frame that was not JSON; nil otherwise
	Problem string         // why a frame could not be used
	Dropped int            // that many frames were not recorded
}

// line is a line of a log as JSON.
type line struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Side    Side   `json:"side"`
	Program string `json:"program"`
	Start   string `json:"start"`
	Redact  string `json:"redact"`

	T       *int64         `json:"t"`
	Dir     string         `json:"dir"`
	Msg     jsontext.Value `json:"msg"`
	Raw     *string        `json:"raw"`
	Raw64   []byte         `json:"raw64"`
	Problem string         `json:"problem"`
	Dropped int            `json:"dropped"`
}
