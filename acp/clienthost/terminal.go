package clienthost

import (
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/process"
)

// lastOutput is how long the output that is in the pipe when a command exits may take. A
// process that the command has left behind may hold the pipe open for ever.
const lastOutput = 200 * time.Millisecond

// terminal is one command.
type terminal struct {
	session acp.SessionID
	agent   *acp.RemoteAgent // whose connection it was created through, nil if none

	out     output
	group   process.Group
	read    *os.File
	exited  chan struct{}    // closed when the command itself has ended
	drained chan struct{}    // closed when nobody can write output any more
	state   *os.ProcessState // set when exited is closed

	killing, stopping sync.Once
	gone              chan struct{} // closed by stop
}

func newTerminal(session acp.SessionID, limit int) *terminal {
	t := &terminal{session: session, exited: make(chan struct{}), drained: make(chan struct{}), gone: make(chan struct{})}
	t.out.limit = limit
	return t
}

func (t *terminal) start(cmd *exec.Cmd) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	// One pipe for both, so that their order is kept; nil input is the null device.
	cmd.Stdout, cmd.Stderr = w, w
	t.group.Prepare(cmd)
	err = cmd.Start()
	_ = w.Close()
	if err == nil {
		if err = t.group.Started(cmd); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	if err != nil {
		_ = r.Close()
		return err
	}
	t.read = r
	go func() { // ends with the last writer, or with stop
		defer close(t.drained)
		_, _ = t.out.readFrom(r)
	}()
	go func() { // ends with the command
		_ = cmd.Wait() // the state says it all
		select {
		case <-t.drained:
		case <-time.After(lastOutput):
		}
		t.state = cmd.ProcessState
		close(t.exited)
	}()
	return nil
}

func (o *output) readFrom(r *os.File) (int64, error) {
	var total int64
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		_, _ = o.Write(buf[:n])
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}

// kill asks the command and everything that it has started to end, and kills what has not
// within grace. It returns when that is done; so do later calls.
func (t *terminal) kill(grace time.Duration) {
	t.killing.Do(func() {
		t.group.Terminate()
		end := time.Now().Add(grace)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-t.exited:
			t.group.Wait(time.Until(end)) // its descendants, which may have outlived it long ago
		case <-timer.C:
		}
		t.group.Kill()
		<-t.exited
	})
}

// stop is kill, and gives everything up.
func (t *terminal) stop(grace time.Duration) {
	t.stopping.Do(func() {
		t.kill(grace)
		_ = t.read.Close()
		<-t.drained
		t.group.Close()
		close(t.gone)
	})
}
