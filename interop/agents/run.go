//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/clienthost"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// stepTimeout bounds everything that an agent is asked to do once.
const stepTimeout = 60 * time.Second

// nobody is the user of agents that refuse to run as root.
const nobody = 65534

// run is one agent being tried.
type run struct {
	agent   agent
	line    []string
	modules string
	home    string // of this run alone, with the folder work in it
	marker  string // in the environment of every process of the agent
	model   *modeltest.Server
	log     *os.File

	client  *acp.RemoteAgent
	traffic *traffic
	hosts   []func() error
	session *acp.Session
	began   time.Time // when the session was new
	turns   int
	person  person

	report report
}

// person answers permissions, always with the same kind of option.
type person struct {
	mu    sync.Mutex
	allow bool
	asked []acp.RequestPermissionRequest
}

func (p *person) RequestPermission(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, req)
	kinds := []acp.PermissionOptionKind{acp.PermissionRejectOnce, acp.PermissionRejectAlways}
	if p.allow {
		kinds = []acp.PermissionOptionKind{acp.PermissionAllowOnce, acp.PermissionAllowAlways}
	}
	for _, kind := range kinds {
		if i := slices.IndexFunc(req.Options, func(o acp.PermissionOption) bool { return o.Kind == kind }); i >= 0 {
			return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: req.Options[i].OptionID}}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.CancelledPermissionOutcome{}}, nil
}

// answers sets how the person answers from now on, and gives how often they have been asked.
func (p *person) answers(allow bool) func() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allow = allow
	before := len(p.asked)
	return func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.asked) - before
	}
}

// try runs one agent through everything.
func (p places) try(ctx context.Context, a agent) (rep report) {
	r := &run{agent: a, report: report{name: a.name, survey: look(nil)}}
	defer func() { rep = r.report }()
	if !r.check("install", func() (err error) {
		if r.line, r.modules, err = p.command(ctx, a); err != nil {
			return err
		}
		r.report.version, err = version(r.modules, a.pkg)
		return err
	}) {
		return
	}
	if !r.check("prepare", func() error { return r.prepare(p) }) {
		return
	}
	defer r.cleanUp()
	r.play(ctx)
	return
}

// prepare makes the home, the model's double and the log.
func (r *run) prepare(p places) error {
	var err error
	if r.model, err = modeltest.Listen(modeltest.Options{NeedTools: true}); err != nil {
		return err
	}
	if r.home, err = os.MkdirTemp("", "agent-"+r.agent.name+"-*"); err != nil {
		return err
	}
	r.marker = "INTEROP_RUN=" + filepath.Base(r.home)
	if r.agent.config != nil {
		for name, text := range r.agent.config(r.home, r.model.URL) {
			if err := write(filepath.Join(r.home, name), text); err != nil {
				return err
			}
		}
	}
	if err := write(r.work("notes.txt"), "old words\n"); err != nil {
		return err
	}
	if r.isNobody() {
		err = filepath.WalkDir(r.home, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Chown(path, nobody, nobody))
		})
		if err != nil {
			return err
		}
	}
	wire := filepath.Join(p.cache, "wire")
	if err := os.MkdirAll(wire, 0o755); err != nil {
		return err
	}
	r.log, err = os.Create(filepath.Join(wire, r.agent.name+".jsonl"))
	return err
}

func (r *run) isNobody() bool { return r.agent.unprivileged && os.Geteuid() == 0 }

func (r *run) work(name string) string { return filepath.Join(r.home, "work", name) }

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func (r *run) cleanUp() {
	r.hangUp()
	r.model.Close()
	_ = r.log.Close()
	r.keepModel()
	_ = os.RemoveAll(r.home)
}

// keepModel keeps what the agent asked of its model beside the wire log: it explains most surprises.
func (r *run) keepModel() {
	var bodies []byte
	for _, req := range r.model.Requests() {
		bodies = append(append(bodies, bytes.TrimSpace(req.Body)...), '\n')
	}
	_ = os.WriteFile(strings.TrimSuffix(r.log.Name(), ".jsonl")+".model.jsonl", bodies, 0o644)
}

// start starts the agent and shakes hands.
func (r *run) start(ctx context.Context) error {
	files, err := clienthost.NewFiles(r.work(""))
	if err != nil {
		return err
	}
	terminals := &clienthost.Terminals{Dir: r.work("")}
	r.hosts = []func() error{terminals.Close, files.Close}
	traffic := &traffic{log: r.log}
	r.traffic = traffic
	opts := &acp.ClientOptions{
		Permission: &r.person, Files: files, Terminals: terminals, StartTimeout: stepTimeout, CancelGrace: stepTimeout,
		Updates: func(_ context.Context, n acp.SessionNotification) {
			traffic.give(given{session: n.SessionID, update: n.Update})
		},
	}
	traffic.attach(opts)
	opts.Extensions = map[string]acp.Extension{
		authStatus: acp.ExtensionNotification(func(context.Context, map[string]any) { traffic.heard.Add(1) }),
	}
	cmd := exec.Command(r.line[0], r.line[1:]...)
	cmd.Dir = r.work("")
	cmd.Env = []string{"HOME=" + r.home, "PATH=" + r.path(), "LANG=C.UTF-8", "NO_COLOR=1", r.marker}
	if r.agent.env != nil {
		cmd.Env = append(cmd.Env, r.agent.env(r.home, r.model.URL)...)
	}
	if r.isNobody() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	r.client, err = acp.Spawn(ctx, cmd, opts)
	return err
}

// path lets an agent find what was installed with it, and what it is run with.
func (r *run) path() string {
	return strings.Join([]string{filepath.Join(r.modules, ".bin"), filepath.Dir(r.line[0]), os.Getenv("PATH")}, string(filepath.ListSeparator))
}

// authStatus is a notification that some agents have invented, and which a client can listen to.
const authStatus = "_auth/status_update"

// hangUp ends the agent and takes in what its connection showed.
func (r *run) hangUp() {
	if r.client != nil {
		_ = r.client.Close()
		_ = r.client.Wait() // a handler may still hand over an update
	}
	for _, end := range r.hosts {
		_ = end()
	}
	r.client, r.hosts, r.session = nil, nil, nil
	if t := r.traffic; t != nil {
		seen := look(t.wire)
		r.report.survey.merge(seen)
		r.report.problems = append(r.report.problems, lost(t.wire, t.given)...)
		if sent, heard := seen.notifications[authStatus], int(t.heard.Load()); heard != sent {
			r.report.problems = append(r.report.problems, fmt.Sprintf("%d of %d notifications %s were given to their handler", heard, sent, authStatus))
		}
		if t.err != nil {
			r.report.problems = append(r.report.problems, t.err.Error())
		}
		for _, g := range t.garbage {
			r.report.survey.odd["not a message: "+g]++
		}
		for _, l := range t.lenient {
			r.report.survey.odd["invalid part: "+l]++
		}
		r.traffic = nil
	}
}

// check notes how a step ended and tells whether the next one makes sense.
func (r *run) check(name string, f func() error) bool {
	err := f()
	r.report.checks = append(r.report.checks, check{name, err})
	return err == nil || errors.Is(err, errNotOffered)
}

var errNotOffered = errors.New("not offered")

// turn is what came of a prompt.
type turn struct {
	said  string
	calls map[acp.ToolCallID]acp.ToolCallStatus
	stop  acp.StopReason
	took  time.Duration
}

// prompt plays a turn to its end. each, if not nil, is called with every update.
func (r *run) prompt(ctx context.Context, text string, each func(*acp.Turn, acp.SessionUpdate)) (turn, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	r.turns++
	t := turn{calls: map[acp.ToolCallID]acp.ToolCallStatus{}}
	began := time.Now()
	p := r.session.Prompt(ctx, acp.Text(text))
	for u := range p.Updates() {
		r.traffic.give(given{r.turns, r.session.ID(), u})
		switch u := u.(type) {
		case acp.AgentMessageChunk:
			t.said += acp.PlainText(u.Content)
		case acp.ToolCall:
			t.calls[u.ToolCallID] = u.Status
		case acp.ToolCallUpdate:
			if u.Status != "" {
				t.calls[u.ToolCallID] = u.Status
			}
		}
		if each != nil {
			each(p, u)
		}
	}
	result, err := p.Result()
	t.took, t.stop = time.Since(began), result.StopReason
	if err != nil {
		return t, fmt.Errorf("prompt %q: %w", text, err)
	}
	return t, nil
}
