package session

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// NewID makes the id of a session: "sess_" and 36 characters of 0-9 and a-v, safe in URLs and file names. It holds 128
// random bits after the time of day in milliseconds, so ids sort by the time they were made.
func NewID() string { return newID("sess_") }

// NewCompactionID gives the id of a compaction.
func NewCompactionID() string { return newID("compaction_") }

// NewTurnID makes the id of a turn; see [NewID] for its form.
func NewTurnID() string { return newID("turn_") }

// NewMessageID makes the id of a message; see [NewID] for its form.
func NewMessageID() string { return newID("msg_") }

// CallID is the id of the n-th call of a session. Numbers rise through the whole session (see [State.LastCall]), so the
// id is unique in every conversation that the model is shown.
func CallID(n int) string { return callPrefix + strconv.Itoa(n) }

const callPrefix = "call_"

// callNumber is the inverse of CallID; it is 0 for an id of another form.
func callNumber(id string) int {
	digits, ok := strings.CutPrefix(id, callPrefix)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func newID(prefix string) string {
	const timeBytes, randomBytes = 6, 16
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(time.Now().UnixMilli()))
	raw := make([]byte, timeBytes+randomBytes)
	copy(raw, stamp[8-timeBytes:])
	rand.Read(raw[timeBytes:]) // never fails: the runtime ends the program instead
	return prefix + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(raw))
}
