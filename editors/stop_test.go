//go:build unix

package editors

import (
	"testing"
	"time"
)

// stopReason is what a prompt was answered.
func stopReason(m map[string]any) any {
	result, _ := m["result"].(map[string]any)
	return result["stopReason"]
}

func cancelOf(session string) string {
	return `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":` + quoted(session) + `}}`
}

func TestAMessageAfterADismissedQuestionIsAnsweredInWhateverOrderTheEditorStops(t *testing.T) {
	const command = `[[anew]] [[call: run {"command":"echo x >> ran"}]] [[text: never]]`
	for name, steps := range map[string][]string{
		"dismissed":                              {"dismiss", "say"},
		"cancelled, then dismissed":              {"cancel", "dismiss", "say"},
		"dismissed, then cancelled":              {"dismiss", "cancel", "say"},
		"cancelled, dismissed after the message": {"cancel", "say", "dismiss"},
		"cancelled and never dismissed":          {"cancel", "say"},
		"cancelled twice":                        {"cancel", "dismiss", "cancel", "say", "dismiss"},
	} {
		t.Run(name, func(t *testing.T) {
			l, d := speak(t)
			s := l.begin(d.folder)
			for round := range 3 {
				first, second := string(quotedNumber(10+2*round)), string(quotedNumber(11+2*round))
				l.write(prompt(first, s, command))
				asked := l.until(func(m map[string]any) bool { return m["method"] == "session/request_permission" })
				all := ""
				for _, step := range steps { // in one write, so that nothing has been dealt with in between
					switch step {
					case "dismiss":
						all += `{"jsonrpc":"2.0","id":` + string(quotedNumber(asked["id"])) + `,"result":{"outcome":{"outcome":"cancelled"}}}` + "\n"
					case "cancel":
						all += cancelOf(s) + "\n"
					case "say":
						all += prompt(second, s, "[[anew]] [[text: still here]]") + "\n"
					}
				}
				l.write(all[:len(all)-1])
				if got := stopReason(l.until(answers(float64(10 + 2*round)))); got != "cancelled" {
					t.Errorf("round %d: the stopped turn was answered %v", round, got)
				}
				if got := stopReason(l.until(answers(float64(11 + 2*round)))); got != "end_turn" {
					t.Errorf("round %d: the message after it was answered %v", round, got)
				}
			}
			if d.saved("ran") != "" {
				t.Error("a command ran that nobody allowed")
			}
			l.in.Close()
			for l.out.Scan() {
			}
			if err := l.cmd.Wait(); err != nil {
				t.Errorf("it ended with %v: %s", err, l.stderr.String())
			}
		})
	}
}

func TestASessionThatIsLoadedInTheMiddleOfATurnCanStillBeCancelled(t *testing.T) {
	for name, tt := range map[string]struct {
		method, folder string // "" for the session's own
		fails          bool
	}{
		"loaded again":              {method: "session/load"},
		"resumed":                   {method: "session/resume"},
		"loaded into no folder":     {method: "session/load", folder: "/does/not/exist", fails: true},
		"loaded into another place": {method: "session/load", folder: "another"},
	} {
		t.Run(name, func(t *testing.T) {
			l, d := speak(t)
			s := l.begin(d.folder)
			l.write(`{"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"sessionId":` + quoted(s) + `,"modeId":"auto"}}`)
			l.until(answers(2))
			l.write(prompt("3", s, `[[call: run {"command":"echo begun; echo $$ > pid; sleep 60"}]]`))
			l.until(func(m map[string]any) bool {
				params, _ := m["params"].(map[string]any)
				update, _ := params["update"].(map[string]any)
				return update["sessionUpdate"] == "tool_call_update" && update["status"] == "in_progress"
			})
			folder := tt.folder
			switch folder {
			case "":
				folder = d.folder
			case "another":
				folder = realFolder(t)
			}
			begun := time.Now()
			l.write(`{"jsonrpc":"2.0","id":4,"method":"` + tt.method + `","params":{"sessionId":` + quoted(s) + `,"cwd":` + quoted(folder) + `,"mcpServers":[]}}`)
			var load, stopped map[string]any
			take := func(m map[string]any) bool {
				switch {
				case answers(3)(m):
					stopped = m
				case answers(4)(m):
					load = m
				}
				return load != nil
			}
			l.until(take)
			if failed := load["error"] != nil; failed != tt.fails {
				t.Errorf("the load was answered %v", load)
			}
			if tt.folder != "another" { // where other settings hold, so that the turn has to end
				if stopped != nil {
					t.Errorf("the turn has ended with the load: %v", stopped)
				}
				begun = time.Now()
				l.write(cancelOf(s))
			}
			if stopped == nil {
				stopped = l.until(answers(3))
			}
			if got := stopReason(stopped); got != "cancelled" || time.Since(begun) > 2*time.Second {
				t.Errorf("the turn was answered %v, after %v", got, time.Since(begun))
			}
			l.write(prompt("5", s, "[[anew]] [[text: still here]]"))
			if got := stopReason(l.until(answers(5))); got != "end_turn" {
				t.Errorf("the next prompt was answered %v", got)
			}
		})
	}
}
