// Package acptest helps to test agents and clients, as httptest does for HTTP: two ends
// joined in memory ([Connect]), faults injected on the way ([Pipe]), scripted peers
// ([Script]), conversations compared with a file ([Transcript]), and what any agent must do
// ([TestAgent]).
package acptest

import (
	"context"
	"fmt"
	"time"

	"github.com/wherry-acp/wherry/acp/transport"
)

// Faults say what a pipe does to the bytes that one end writes. The zero value carries
// them unharmed.
type Faults struct {
	// CutAfter breaks the connection, in both directions, after so many bytes; 0 never
	// does. With CutAtStart it breaks before the first.
	CutAfter   int
	CutAtStart bool

	// Chunk splits what is written into pieces of at most so many bytes, each its own
	// read at the other end, however the writes were; 0 leaves them.
	Chunk int

	// EndAfter ends this direction after so many bytes, while the other one goes on; 0
	// never does.
	EndAfter int

	// Stall stops reading after so many bytes until Resume is called; 0 never does.
	Stall int

	// Delay is how much later than it was written a byte arrives.
	Delay time.Duration

	// Merge collects what is written for so long, from the first byte on, and lets it
	// arrive at once; Chunk may then cut it anywhere, so that messages are split and
	// merged.
	Merge time.Duration

	// Err is what the writer gets after a cut or an end; nil means io.ErrClosedPipe.
	Err error
}

// A Pipe is a byte pipe with faults, one for each direction, with line transports at both
// ends. Its methods may be called concurrently.
type Pipe struct {
	// A and B are the two ends.
	A, B transport.Transport

	ab, ba *stream
}

// NewPipe returns a pipe that does fromA to what A writes and fromB to what B writes.
func NewPipe(fromA, fromB Faults) *Pipe {
	p := &Pipe{ab: newStream(fromA), ba: newStream(fromB)}
	cut := func() { p.ab.cut(); p.ba.cut() }
	p.ab.onCut, p.ba.onCut = cut, cut
	p.A = transport.NewLine(p.ba.reader(), p.ab.writer(), nil)
	p.B = transport.NewLine(p.ab.reader(), p.ba.writer(), nil)
	return p
}

// Cut breaks the connection in both directions now. What has been written can still be read.
func (p *Pipe) Cut() { p.ab.onCut() }

// EndA ends what A writes: B reads its end, A cannot write any more, and what B writes still
// arrives.
func (p *Pipe) EndA() { p.ab.end() }

// EndB is EndA the other way round.
func (p *Pipe) EndB() { p.ba.end() }

// Resume ends a stall.
func (p *Pipe) Resume() {
	p.ab.resume()
	p.ba.resume()
}

// Inject writes raw bytes to B as if they came from A: half a line, garbage, anything.
func (p *Pipe) Inject(data string) error {
	if _, err := p.ab.write([]byte(data)); err != nil {
		return fmt.Errorf("inject: %w", err)
	}
	return nil
}

// A Peer is the raw other end of a connection: it writes and reads whole lines.
type Peer struct{ Transport transport.Transport }

// Send writes lines.
func (p Peer) Send(ctx context.Context, lines ...string) error {
	msgs := make([][]byte, len(lines))
	for i, line := range lines {
		msgs[i] = []byte(line)
	}
	return p.Transport.Write(ctx, msgs...)
}

// Receive reads the next line.
func (p Peer) Receive(ctx context.Context) (string, error) {
	line, err := p.Transport.Read(ctx)
	return string(line), err
}
