package mcp

import (
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
)

func TestTheToolsOfAProgramAreOfferedAndCalled(t *testing.T) {
	set := openReady(t, Options{}, program(t, "plain"))
	spec := find(t, set, "plain__echo").Spec()
	contains(t, spec.Description, `The tool "echo" of the MCP server "plain"`, "Gives back what it is given.")
	call := prepare(t, find(t, set, "plain__echo"), ` {"b": 1.50, "a": "<&>"} `)
	p := call.Presentation()
	if p.Class != approval.ClassServer || p.Title != `plain: echo {"b":1.50,"a":"<&>"}` {
		t.Errorf("presented: %+v", p)
	}
	if r := p.Request; r == nil || r.Server != "plain" || r.Tool != "echo" || string(r.Args) != `{"b":1.50,"a":"<&>"}` {
		t.Errorf("request: %+v", r)
	}
	result := call.Run(t.Context(), &shown{})
	if result.Failed || result.Text != `{"b":1.50,"a":"<&>"}` {
		t.Errorf("result: %+v; what was presented must be what is sent", result)
	}
	status := set.Status()[0]
	if status.State != StateReady || status.Program != "plain-server 1.2" || len(status.Tools) < 5 || status.Error != "" {
		t.Errorf("status: %+v", status)
	}
}

func TestAFailureOfTheToolIsAFailedResult(t *testing.T) {
	set := openReady(t, Options{}, program(t, "plain"))
	if r := callTool(t, set, "plain__fail", ""); !r.Failed || r.Text != "it did not work" {
		t.Errorf("result: %+v", r)
	}
}

func TestLinesThatAreNoMessagesCostNothing(t *testing.T) {
	set := openReady(t, Options{}, program(t, "noisy"))
	if r := callTool(t, set, "noisy__echo", "{}"); r.Failed {
		t.Errorf("result: %+v", r)
	}
}

func TestClosingEndsEverythingAtOnce(t *testing.T) {
	set := Open([]Server{program(t, "plain"), program(t, "stubborn"), program(t, "silent"), program(t, "deaf")}, Options{})
	defer set.Close()
	eventually(t, "the tools", func() bool {
		st := set.Status()
		return st[0].State == StateReady && st[1].State == StateReady
	})
	pids := strings.Fields(callTool(t, set, "plain__pid", "").Text + " " + callTool(t, set, "stubborn__pids", "").Text)
	if len(pids) != 3 {
		t.Fatal(pids)
	}
	began := time.Now()
	set.Close()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("closing took %s", took)
	}
	for _, pid := range pids {
		eventually(t, "process "+pid+" is gone", func() bool { return gone(t, pid) })
	}
	for _, st := range set.Status() {
		if st.State != StateStopped || len(st.Tools) > 0 {
			t.Errorf("status after closing: %+v", st)
		}
	}
	set.Close()
}

func TestAProgramThatEndsWhenItsInputDoesIsNotKilled(t *testing.T) {
	server := program(t, "raw")
	server.Env = map[string]string{"GORACE": "atexit_sleep_ms=0"} // a test binary with the race detector lingers
	set := openReady(t, Options{}, server)
	process := set.servers[0].conn.process
	set.Close()
	if process.exit != "exit code 0" {
		t.Errorf("it ended with %s", process.exit)
	}
}
