package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/wherry-acp/wherry/agent/host"
)

const (
	maxMessage = 16 << 20               // bytes of one message; a longer one is dropped
	patience   = 500 * time.Millisecond // for a server to end by itself once its standard input is closed
	drainLimit = 250 * time.Millisecond // for what an ended server wrote to be read
)

// process is a server that runs on this machine, and its messages. Lines of its output that are no messages are counted
// and dropped: many a server prints a greeting.
type process struct {
	child  *host.Child
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	tail   *tail

	incoming chan jsonrpc.Message // what the server says
	outgoing chan []byte          // whole lines
	silent   chan struct{}        // closed when its output has ended
	deaf     chan struct{}        // closed when its input cannot be written any more
	stopping chan struct{}        // closed by stop
	readers  sync.WaitGroup
	writer   sync.WaitGroup

	stopOnce sync.Once
	exit     string // how it ended, once stop has returned

	mu    sync.Mutex
	noise int    // lines that are no messages
	first string // the first of them, shortened
}

// startProcess starts the server's program. Its environment is environ with the server's own variables.
func startProcess(cfg Server, dir string, environ []string, secrets *redactor) (*process, error) {
	environ = slices.Clone(environ)
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("the folder it should work in is not there: %s", dir)
		}
		environ = append(environ, "PWD="+dir)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Env)) {
		environ = append(environ, name+"="+cfg.Env[name])
	}
	path, err := findProgram(cfg.Command, environ, dir)
	if err != nil {
		return nil, err
	}
	p := &process{
		tail:     &tail{secrets: secrets},
		incoming: make(chan jsonrpc.Message), outgoing: make(chan []byte),
		silent: make(chan struct{}), deaf: make(chan struct{}), stopping: make(chan struct{}),
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{cfg.Command}, cfg.Args...), Dir: dir, Env: environ}
	if err := p.start(cmd); err != nil {
		return nil, fmt.Errorf("%s cannot be run: %w", cfg.Command, err)
	}
	p.readers.Go(p.read)
	p.readers.Go(func() { _, _ = io.Copy(p.tail, p.stderr) }) // ends when stop closes the pipe, if not before
	p.writer.Go(p.write)
	return p, nil
}

// start makes the pipes and starts cmd with them.
func (p *process) start(cmd *exec.Cmd) (err error) {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			p.closePipes()
		}
	}()
	pipe := func(read, write **os.File) error {
		r, w, err := os.Pipe()
		if err == nil {
			*read, *write = r, w
		}
		return err
	}
	var in, out, errs *os.File
	err = errors.Join(pipe(&in, &p.stdin), pipe(&p.stdout, &out), pipe(&p.stderr, &errs))
	for _, f := range []*os.File{in, out, errs} {
		if f != nil {
			theirs = append(theirs, f)
		}
	}
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	p.child, err = host.StartChild(cmd)
	return err
}

func (p *process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// read hands on the messages until the output ends.
func (p *process) read() {
	defer close(p.silent)
	lines := bufio.NewReaderSize(p.stdout, 64<<10)
	for {
		line, whole, err := readLine(lines, maxMessage)
		messages, ok := decode(line)
		if !whole {
			messages, ok = tooLong(line)
		}
		if !ok {
			p.count(line)
		}
		for _, m := range messages {
			select {
			case p.incoming <- m:
			case <-p.stopping:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line. Of one that is longer than limit it gives the beginning, and that it is not whole.
func readLine(r *bufio.Reader, limit int) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if n := limit - len(line); len(part) > n {
			part, whole = part[:n], false
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// answerTo finds the number of the request that a message answers, where messages usually begin with it.
var answerTo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*([0-9]{1,15})\s*,`)
})

// tooLong makes an answer of the beginning of a message that is too long to be read, so that nobody waits for it.
func tooLong(line []byte) (messages []jsonrpc.Message, ok bool) {
	found := answerTo().FindSubmatch(line[:min(len(line), 256)])
	if found == nil {
		return nil, false
	}
	number, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		return nil, false
	}
	id, err := jsonrpc.MakeID(float64(number))
	if err != nil {
		return nil, false
	}
	return []jsonrpc.Message{&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the answer is larger than %d MiB", maxMessage>>20),
	}}}, true
}

// decode reads the messages of a line: one, or in older versions of the protocol several in an array. An empty line is
// fine and has none.
func decode(line []byte) (messages []jsonrpc.Message, ok bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil, true
	}
	parts := []json.RawMessage{line}
	if line[0] == '[' {
		parts = nil
		if json.Unmarshal(line, &parts) != nil {
			return nil, false
		}
	}
	for _, part := range parts {
		m, err := jsonrpc.DecodeMessage(part)
		if err != nil {
			return nil, false
		}
		messages = append(messages, m)
	}
	return messages, true
}

func (p *process) count(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noise++
	if p.noise == 1 {
		p.first = string(line[:min(len(line), 4<<10)])
	}
}

// said describes output that was no message, or is empty.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.noise == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the lines on its standard output are no messages of the protocol, the first being: %s",
		p.noise, clip(strings.TrimSpace(p.tail.secrets.say(p.first)), 200))
}

// write writes the lines that are handed to it, until the process is stopped or its input breaks.
func (p *process) write() {
	defer close(p.deaf)
	for {
		select {
		case line := <-p.outgoing:
			if _, err := p.stdin.Write(line); err != nil {
				return
			}
		case <-p.stopping:
			return
		}
	}
}

// stop ends the server and all that it has started: first it closes the server's standard input, which is how the protocol
// says goodbye. It gives how the server ended.
func (p *process) stop() string {
	p.stopOnce.Do(func() {
		close(p.stopping)
		_ = p.stdin.Close() // also ends a write that nobody reads
		code, signal := p.child.Stop(patience)
		p.exit = fmt.Sprintf("exit code %d", code)
		if signal != "" {
			p.exit = "killed by " + signal
		}
		drained := make(chan struct{})
		go func() { // ends with the readers, which end with their pipes
			p.readers.Wait()
			close(drained)
		}()
		timer := time.NewTimer(drainLimit)
		defer timer.Stop()
		select {
		case <-drained:
		case <-timer.C: // a process that left the group holds the other end
		}
		p.closePipes()
		<-drained
		p.writer.Wait()
	})
	return p.exit
}

// findProgram finds the program of a server as its own environment would: a GUI's PATH and the configured one differ.
func findProgram(command string, environ []string, dir string) (string, error) {
	if filepath.IsAbs(command) {
		return command, nil
	}
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		return filepath.Abs(filepath.Join(dir, command))
	}
	if runtime.GOOS == "windows" {
		path, err := exec.LookPath(command)
		if err != nil {
			return "", notFound(command)
		}
		return filepath.Abs(path)
	}
	for _, folder := range filepath.SplitList(lookup(environ, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue // a program must not depend on the folder that is open
		}
		path := filepath.Join(folder, command)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", notFound(command)
}

func notFound(command string) error {
	return &fs.PathError{Op: "find", Path: command + " in the PATH (install it, or give its full path)", Err: fs.ErrNotExist}
}

// lookup gives the last value of a variable in environ.
func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
