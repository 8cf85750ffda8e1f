//go:build unix

package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"
)

// teeCommand as first argument makes the test binary a wire tee: `TEST wire-tee LOG COMMAND ARGS…` runs the command and
// passes standard input and output through, adding every line to LOG.
const teeCommand = "wire-tee"

// wireLine is an entry of the tee's log, which has one JSON object a line.
type wireLine struct {
	Time time.Time `json:"time"`
	From string    `json:"from"` // "client" or "agent"
	Line string    `json:"line"` // as it was sent, without its newline
}

func tee(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "wire-tee: expected LOG COMMAND ARGS…")
		return 2
	}
	log, err := os.OpenFile(args[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		fmt.Fprintf(os.Stderr, "wire-tee: open the log: %v\n", err)
		return 2
	}
	defer log.Close()
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		fmt.Fprintf(os.Stderr, "wire-tee: %v\n", err)
		return 2
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		fmt.Fprintf(os.Stderr, "wire-tee: %v\n", err)
		return 2
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "wire-tee: start %s: %v\n", args[1], err)
		return 2
	}
	go func() { // ends with this process
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	var mu sync.Mutex
	go func() { // ends with this process: nothing can interrupt a read of standard input
		_ = passLines(stdin, os.Stdin, log, &mu, "client")
		_ = stdin.Close()
	}()
	_ = passLines(os.Stdout, stdout, log, &mu, "agent")
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	default:
		fmt.Fprintf(os.Stderr, "wire-tee: %s: %v\n", args[1], err)
		return 1
	}
}

// passLines copies lines from r to w and to the log, until r ends or w takes no more.
func passLines(w io.Writer, r io.Reader, log io.Writer, mu *sync.Mutex, from string) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			text := line
			if text[len(text)-1] == '\n' {
				text = text[:len(text)-1]
			}
			entry, jsonErr := json.Marshal(wireLine{Time: time.Now(), From: from, Line: string(text)})
			if jsonErr != nil {
				return jsonErr
			}
			mu.Lock() // logged before it is sent: whoever has seen a message finds it in the log
			_, logErr := log.Write(append(entry, '\n'))
			mu.Unlock()
			if logErr != nil {
				return logErr
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// readWire reads the tee's log.
func readWire(t *testing.T, path string) []wireLine {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("read the wire log: %v", err)
	}
	defer f.Close()
	var lines []wireLine
	dec := json.NewDecoder(f)
	for {
		var line wireLine
		if err := dec.Decode(&line); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatalf("read the wire log: %v", err)
		}
		lines = append(lines, line)
	}
}
