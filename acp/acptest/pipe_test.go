package acptest_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
)

func TestADelayedPipeDeliversEachWriteSoMuchLaterAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := acptest.NewPipe(acptest.Faults{Delay: time.Second}, acptest.Faults{})
		a, b := acptest.Peer{Transport: p.A}, acptest.Peer{Transport: p.B}
		start := time.Now()
		for _, line := range []string{"one", "two"} {
			if err := a.Send(t.Context(), line); err != nil {
				t.Fatal(err)
			}
			<-time.After(300 * time.Millisecond)
		}
		for i, want := range []string{"one", "two"} {
			got, err := b.Receive(t.Context())
			if at := time.Since(start); err != nil || got != want || at != time.Second+time.Duration(i)*300*time.Millisecond {
				t.Errorf("%q after %v, %v", got, at, err)
			}
		}
		if err := b.Send(t.Context(), "back"); err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		if got, err := a.Receive(t.Context()); err != nil || got != "back" || time.Since(at) != 0 {
			t.Errorf("the other direction: %q after %v, %v", got, time.Since(at), err)
		}
	})
}

func TestAMergingPipeLetsTheWritesOfItsWindowArriveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := acptest.NewPipe(acptest.Faults{Merge: 100 * time.Millisecond, Delay: time.Second}, acptest.Faults{})
		start := time.Now()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range 4 { // at 0, 60, 120 and 180 ms: two windows
				if err := p.Inject("x\n"); err != nil {
					t.Error(err)
				}
				<-time.After(60 * time.Millisecond)
			}
		}()
		b := acptest.Peer{Transport: p.B}
		for _, want := range []time.Duration{1100, 1100, 1220, 1220} {
			if _, err := b.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			if at := time.Since(start); at != want*time.Millisecond {
				t.Errorf("arrived after %v, want %v", at, want*time.Millisecond)
			}
		}
		<-sent
	})
}

func TestATurnSurvivesMessagesThatAreSplitMergedAndLate(t *testing.T) {
	f := acptest.Faults{Chunk: 50, Merge: 2 * time.Millisecond, Delay: time.Millisecond}
	p := acptest.NewPipe(f, f)
	client, err := acp.Accept(context.Background(), p.B, chatty(200), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := acp.Connect(context.Background(), p.A, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	turn := s.Prompt(t.Context(), acp.Text("x"))
	for range turn.Updates() {
		n++
	}
	if _, err := turn.Result(); err != nil || n != 200 {
		t.Errorf("%d updates, %v", n, err)
	}
	_ = a.Close()
	_ = client.Wait()
}

func TestOneDirectionCanEndWhileTheOtherGoesOn(t *testing.T) {
	p := acptest.NewPipe(acptest.Faults{}, acptest.Faults{})
	a, b := acptest.Peer{Transport: p.A}, acptest.Peer{Transport: p.B}
	if err := a.Send(t.Context(), "last"); err != nil {
		t.Fatal(err)
	}
	p.EndA()
	if got, err := b.Receive(t.Context()); err != nil || got != "last" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := b.Receive(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	if err := a.Send(t.Context(), "more"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("send: %v", err)
	}
	if err := b.Send(t.Context(), "still here"); err != nil {
		t.Error(err)
	}
	if got, err := a.Receive(t.Context()); err != nil || got != "still here" {
		t.Errorf("%q, %v", got, err)
	}
	p.EndB()
	if _, err := a.Receive(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after both ends: %v", err)
	}
}

func TestADirectionEndsAfterItsBytesAndTheReaderSeesItAtOnce(t *testing.T) {
	full := errors.New("disk full")
	p := acptest.NewPipe(acptest.Faults{EndAfter: 6, Err: full}, acptest.Faults{})
	a, b := acptest.Peer{Transport: p.A}, acptest.Peer{Transport: p.B}
	if err := a.Send(t.Context(), "12345"); err != nil { // with its line end exactly 6 bytes
		t.Fatal(err)
	}
	if got, err := b.Receive(t.Context()); err != nil || got != "12345" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := b.Receive(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	if err := a.Send(t.Context(), "x"); !errors.Is(err, full) || !strings.Contains(err.Error(), "write line") {
		t.Errorf("send: %v", err)
	}
}

// What an agent does when its client stops sending but still listens.
func TestAnAgentWhoseInputHasEndedStillWritesWhatItHadQueued(t *testing.T) {
	p := acptest.NewPipe(acptest.Faults{}, acptest.Faults{Delay: 5 * time.Millisecond})
	client, err := acp.Accept(context.Background(), p.B, &acptest.Agent{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	peer := acptest.Peer{Transport: p.A}
	if err := peer.Send(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`); err != nil {
		t.Fatal(err)
	}
	p.EndA()
	if got, err := peer.Receive(t.Context()); err != nil || !strings.Contains(got, `"protocolVersion":1`) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := peer.Receive(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("then: %v", err)
	}
	if err := client.Wait(); err != nil {
		t.Error(err)
	}
}
