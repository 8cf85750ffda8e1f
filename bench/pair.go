package main

import (
	"context"
	"io"
	"os"
	"time"
)

// A pair is an agent and a client of the same SDK that talk through pipes of the operating system, as an editor and its
// agent do.
type pair interface {
	// turns opens so many sessions and then plays a turn of so many updates in each, all at the same time. It gives the
	// time from the first prompt until every prompt is answered and the client has handled every update.
	turns(ctx context.Context, sessions, updates int) (time.Duration, error)

	// trips makes so many requests with a short answer, some at a time.
	trips(ctx context.Context, requests, inFlight int) (time.Duration, error)

	close()
}

const chunkText = "a few words of an answer, "

// pipes are two operating system pipes, as between an editor and its agent.
type pipes struct {
	agentIn, clientIn   *os.File // what each side reads
	agentOut, clientOut *os.File // what each side writes
}

func newPipes() (p pipes, err error) {
	if p.agentIn, p.clientOut, err = os.Pipe(); err != nil {
		return p, err
	}
	p.clientIn, p.agentOut, err = os.Pipe()
	return p, err
}

func (p pipes) close() {
	for _, f := range []*os.File{p.clientOut, p.agentOut, p.agentIn, p.clientIn} {
		_ = f.Close()
	}
}

// together calls f so many times, some at a time, and returns the first error.
func together(times, atATime int, f func(i int) error) error {
	next, failed := make(chan int), make(chan error, atATime)
	for range atATime {
		go func() {
			var err error
			for i := range next {
				if err == nil {
					err = f(i)
				}
			}
			failed <- err
		}()
	}
	for i := range times {
		next <- i
	}
	close(next)
	var first error
	for range atATime {
		if err := <-failed; first == nil {
			first = err
		}
	}
	return first
}

// bytesAlone passes the bytes of a turn through the same kind of pipe with nothing done to them, a write each or in blocks
// of so many bytes: what a pipe can carry.
func bytesAlone(updates, block int) (time.Duration, error) {
	p, err := newPipes()
	if err != nil {
		return 0, err
	}
	defer p.close()
	line := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + chunkText + `"}}}}` + "\n")
	var lines []byte
	for len(lines)+len(line) <= max(block, len(line)) {
		lines = append(lines, line...)
	}
	failed := make(chan error, 1)
	begin := time.Now()
	go func() {
		defer p.agentOut.Close()
		for sent := 0; sent < updates*len(line); sent += len(lines) {
			if _, err := p.agentOut.Write(lines); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	_, err = io.Copy(io.Discard, struct{ io.Reader }{p.clientIn})
	took := time.Since(begin)
	if err == nil {
		err = <-failed
	}
	return took, err
}
