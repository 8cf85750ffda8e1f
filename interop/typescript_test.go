//go:build unix

package interop

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withAndWithoutEditor runs a test with a client that offers files and terminals, and with one that offers nothing.
func withAndWithoutEditor(t *testing.T, test func(t *testing.T, editor bool)) {
	t.Run("client with files and terminals", func(t *testing.T) { t.Parallel(); test(t, true) })
	t.Run("client with nothing", func(t *testing.T) { t.Parallel(); test(t, false) })
}

func playWherry(t *testing.T, home string, editor bool, steps ...step) played {
	t.Helper()
	s := scenario{Files: editor, Terminals: editor, Steps: append([]step{{Do: "initialize"}}, steps...)}
	p := play(t, home, s, installed.wherry, "acp")
	p.Steps = p.Steps[1:]
	return p
}

func TestATurnStreamsItsAnswerAndEnds(t *testing.T) {
	withAndWithoutEditor(t, func(t *testing.T, editor bool) {
		dir := folder(t, map[string]string{"README.md": "# Ferry\n\nFerry carries parcels over the river.\n"})
		p := playWherry(t, t.TempDir(), editor, step{Do: "converse", Cwd: dir, Text: "read README.md"})
		turn := p.Steps[0]
		if got := turn.stopReason(); got != "end_turn" {
			t.Errorf("the turn ended with %q, expected end_turn", got)
		}
		if text := spoken(turn.Updates, "agent_message_chunk"); !strings.Contains(text, "Ferry carries parcels over the river.") {
			t.Errorf("the answer does not show the file:\n%s", text)
		}
		calls := toolCalls(turn.Updates)
		if len(calls) != 1 || calls[0].status() != "completed" || calls[0].Kind != "read" {
			t.Errorf("expected one completed call of kind read: %+v", calls)
		}
		want := filepath.Join(dir, "README.md")
		if len(calls) == 1 && (len(calls[0].Locations) == 0 || calls[0].Locations[0].Path != want) {
			t.Errorf("the call's location is %v, expected %s", calls[0].Locations, want)
		}
	})
}

func TestAnEditAllowedOnceShowsItsDiffFirstAndAsksAgainTheNextTime(t *testing.T) {
	withAndWithoutEditor(t, func(t *testing.T, editor bool) {
		dir := folder(t, nil)
		p := playWherry(
			t, t.TempDir(), editor,
			step{Do: "new", Session: "s", Cwd: dir},
			step{Do: "prompt", Session: "s", Text: "create one.txt: first", Answers: []string{"allow_once"}},
			step{Do: "prompt", Session: "s", Text: "create two.txt: second", Answers: []string{"allow_once"}},
		)
		for i, want := range []struct{ name, text string }{{"one.txt", "first"}, {"two.txt", "second"}} {
			turn, path := p.Steps[i+1], filepath.Join(dir, want.name)
			if len(turn.Permissions) != 1 {
				t.Fatalf("%s: asked %d times, expected once", want.name, len(turn.Permissions))
			}
			asked := turn.Permissions[0]
			diffs := asked.Request.diffs()
			if len(diffs) != 1 || diffs[0].Path != path || diffs[0].OldText != nil || strings.TrimSpace(diffs[0].NewText) != want.text {
				t.Errorf("%s: the permission shows %+v", want.name, diffs)
			}
			if before, there := asked.Disk[path]; !there || before != nil {
				t.Errorf("%s: the file was there while the client was still asked", want.name)
			}
			if got, _ := onDisk(t, path); strings.TrimSpace(got) != want.text {
				t.Errorf("%s holds %q, expected %q", want.name, got, want.text)
			}
			assertCalls(t, turn.Updates, "completed")
		}
		writes := slices.DeleteFunc(slices.Clone(p.Files), func(c fileCall) bool { return c.Method != "write" })
		if wanted := map[bool]int{true: 2, false: 0}[editor]; len(writes) != wanted {
			t.Errorf("%d writes through the client, expected %d: %+v", len(writes), wanted, writes)
		}
	})
}

func TestWhatIsAllowedForTheSessionIsNotAskedAgainAndOtherThingsAre(t *testing.T) {
	withAndWithoutEditor(t, func(t *testing.T, editor bool) {
		dir := folder(t, nil)
		p := playWherry(
			t, t.TempDir(), editor,
			step{Do: "new", Session: "s", Cwd: dir},
			step{Do: "prompt", Session: "s", Text: "create one.txt: first", Answers: []string{"allow_always"}},
			step{Do: "prompt", Session: "s", Text: "create two.txt: second"},
			step{Do: "prompt", Session: "s", Text: "run echo out >> three.txt", Answers: []string{"allow_always"}},
			step{Do: "prompt", Session: "s", Text: "run echo out >> three.txt"},
			step{Do: "prompt", Session: "s", Text: "run echo out >> four.txt", Answers: []string{"reject_once"}},
		)
		second := p.Steps[2]
		if len(second.Permissions) != 0 {
			t.Errorf("the second edit was asked: %+v", second.Permissions)
		}
		if calls := toolCalls(second.Updates); len(calls) != 1 || len(calls[0].diffs()) != 1 {
			t.Errorf("the second edit does not show its diff: %+v", calls)
		}
		if got, _ := onDisk(t, filepath.Join(dir, "two.txt")); strings.TrimSpace(got) != "second" {
			t.Errorf("two.txt holds %q", got)
		}
		for i, want := range map[int]int{3: 1, 4: 0, 5: 1} {
			if asked := p.Steps[i].Permissions; len(asked) != want {
				t.Errorf("step %d was asked %d times, expected %d", i, len(asked), want)
			}
		}
		if got, _ := onDisk(t, filepath.Join(dir, "three.txt")); got != "out\nout\n" {
			t.Errorf("three.txt holds %q", got)
		}
		if _, there := onDisk(t, filepath.Join(dir, "four.txt")); there {
			t.Error("the refused command ran")
		}
	})
}

func TestARefusedEditLeavesNoFileAndFails(t *testing.T) {
	withAndWithoutEditor(t, func(t *testing.T, editor bool) {
		dir := folder(t, nil)
		p := playWherry(
			t, t.TempDir(), editor,
			step{Do: "new", Session: "s", Cwd: dir},
			step{Do: "prompt", Session: "s", Text: "create one.txt: first", Answers: []string{"reject_once"}},
			step{Do: "prompt", Session: "s", Text: "create two.txt: second", Answers: []string{"cancelled"}},
		)
		if got := p.Steps[1].stopReason(); got != "end_turn" {
			t.Errorf("the turn ended with %q, expected end_turn: the model goes on after a refusal", got)
		}
		for i, name := range []string{"one.txt", "two.txt"} {
			if _, there := onDisk(t, filepath.Join(dir, name)); there {
				t.Errorf("%s was written", name)
			}
			assertCalls(t, p.Steps[i+1].Updates, "failed")
		}
	})
}

func TestACancelledCommandEndsAndTheNextPromptWorks(t *testing.T) {
	withAndWithoutEditor(t, func(t *testing.T, editor bool) {
		dir := folder(t, map[string]string{"a.txt": "still here\n"})
		sleep := uniqueSleep()
		p := playWherry(
			t, t.TempDir(), editor,
			step{Do: "new", Session: "s", Cwd: dir},
			step{Do: "prompt", Session: "s", Text: "run " + sleep, Answers: []string{"allow_once"}, CancelAt: "in_progress"},
			step{Do: "prompt", Session: "s", Text: "read a.txt"},
		)
		if got := p.Steps[1].stopReason(); got != "cancelled" {
			t.Errorf("the turn ended with %q, expected cancelled", got)
		}
		assertCalls(t, p.Steps[1].Updates, "failed")
		if running := processes(t, sleep); len(running) > 0 {
			t.Errorf("still running: %v", running)
		}
		if text := spoken(p.Steps[2].Updates, "agent_message_chunk"); !strings.Contains(text, "still here") {
			t.Errorf("the next prompt was not answered: %q", text)
		}
		if editor && !slices.ContainsFunc(p.Terminals, func(c terminalCall) bool { return c.Method == "release" }) {
			t.Errorf("the client's terminal was not released: %+v", p.Terminals)
		}
	})
}

func TestALoadedSessionReplaysTheWholeConversation(t *testing.T) {
	withAndWithoutEditor(t, func(t *testing.T, editor bool) {
		dir, home := folder(t, map[string]string{"a.txt": "old words\n"}), t.TempDir()
		prompts := []string{"read a.txt", `replace "old" with "new" in a.txt`, "run echo out; exit 3", "plan: look; leap", "create no.txt: never"}
		answers := [][]string{nil, {"allow_once"}, {"allow_once"}, nil, {"reject_once"}}
		steps := []step{{Do: "new", Session: "s", Cwd: dir}}
		for i, text := range prompts {
			steps = append(steps, step{Do: "prompt", Session: "s", Text: text, Answers: answers[i]})
		}
		live := playWherry(t, home, editor, steps...)
		var lived []update
		for _, turn := range live.Steps[1:] {
			lived = append(lived, turn.Updates...)
		}

		replay := play(t, home, scenario{
			Files: editor, Terminals: editor, Sessions: live.Sessions,
			Steps: []step{{Do: "initialize"}, {Do: "load", Session: "s", Cwd: dir}, {Do: "prompt", Session: "s", Text: "read a.txt"}},
		}, installed.wherry, "acp")
		replayed := replay.Steps[1].Updates

		if got := spoken(replayed, "user_message_chunk"); got != strings.Join(prompts, "") {
			t.Errorf("the replayed prompts are %q, expected %q", got, prompts)
		}
		if got, want := spoken(replayed, "agent_message_chunk"), spoken(lived, "agent_message_chunk"); got != want {
			t.Errorf("the replayed answers differ from the live ones (-live +replayed):\n%s", cmp.Diff(want, got))
		}
		if got, want := outlines(replayed), outlines(lived); !slices.Equal(got, want) {
			t.Errorf("the replayed tool calls differ from the live ones (-live +replayed):\n%s", cmp.Diff(want, got))
		} else if len(want) < 4 {
			t.Errorf("%d tool calls, expected a read, a command and two edits at least:\n%s", len(want), strings.Join(want, "\n"))
		}
		if got, want := lastPlan(replayed), lastPlan(lived); len(want) != 2 || !slices.Equal(got, want) {
			t.Errorf("the replayed plan is %v, the live one was %v", got, want)
		}
		if asked := replay.Steps[1].Permissions; len(asked) != 0 {
			t.Errorf("loading asked for permission: %+v", asked)
		}
		if text := spoken(replay.Steps[2].Updates, "agent_message_chunk"); !strings.Contains(text, "new words") {
			t.Errorf("the loaded session does not go on: %q", text)
		}
	})
}

// outlines describes finished tool calls by what a person sees of them.
func outlines(updates []update) []string {
	var all []string
	for _, c := range toolCalls(updates) {
		line := fmt.Sprintf("%s [%s] %s", c.Kind, c.status(), c.Title)
		for _, d := range c.diffs() {
			old := "(none)"
			if d.OldText != nil {
				old = *d.OldText
			}
			line += fmt.Sprintf("\n  %s: %q -> %q", d.Path, old, d.NewText)
		}
		all = append(all, line)
	}
	return all
}

func TestSessionsInSeveralFoldersAtOnceDoNotMix(t *testing.T) {
	withAndWithoutEditor(t, func(t *testing.T, editor bool) {
		names := []string{"ada", "bob", "cyd"}
		dirs := map[string]string{}
		var opened, together, again []step
		for _, name := range names {
			dirs[name] = folder(t, map[string]string{"who.txt": "this is " + name + "\n"})
			opened = append(opened, step{Do: "new", Session: name, Cwd: dirs[name]})
			together = append(together, step{Do: "prompt", Session: name, Text: "create note.txt: " + name, Answers: []string{"allow_once"}})
			again = append(again, step{Do: "prompt", Session: name, Text: "read who.txt"})
		}
		p := playWherry(t, t.TempDir(), editor, append(opened, step{Do: "together", Steps: together}, step{Do: "together", Steps: again})...)
		made, read := p.Steps[len(names)], p.Steps[len(names)+1]
		for i, name := range names {
			for _, r := range []stepResult{made.Steps[i], read.Steps[i]} {
				if r.Error != nil || r.stopReason() != "end_turn" {
					t.Fatalf("%s: %q, %+v", name, r.stopReason(), r.Error)
				}
			}
			if got, _ := onDisk(t, filepath.Join(dirs[name], "note.txt")); strings.TrimSpace(got) != name {
				t.Errorf("%s/note.txt holds %q", name, got)
			}
			text := spoken(read.Steps[i].Updates, "agent_message_chunk")
			for _, other := range names {
				if said := strings.Contains(text, "this is "+other); said != (other == name) {
					t.Errorf("the session of %s says of %s: %q", name, other, text)
				}
			}
		}
	})
}

func TestSessionsAreListedByFolderAndDeleted(t *testing.T) {
	here, elsewhere := folder(t, nil), folder(t, nil)
	list := step{Do: "request", Method: "session/list", Params: map[string]any{"cwd": here}}
	p := playWherry(
		t, t.TempDir(), false,
		step{Do: "new", Session: "older", Cwd: here},
		step{Do: "prompt", Session: "older", Text: "search for the older needle"},
		step{Do: "new", Session: "other", Cwd: elsewhere},
		step{Do: "prompt", Session: "other", Text: "search for the other needle"},
		step{Do: "new", Session: "newer", Cwd: here},
		step{Do: "prompt", Session: "newer", Text: "search for the newer needle"},
		list,
		step{Do: "request", Method: "session/delete", Session: "newer"},
		list,
		step{Do: "request", Method: "_interop/nobody_has_this", Fails: -32601},
	)
	for i, want := range map[int][]string{6: {"newer", "older"}, 8: {"older"}} {
		var response struct {
			Sessions []struct {
				SessionID string `json:"sessionId"`
				Cwd       string `json:"cwd"`
				Title     string `json:"title"`
			} `json:"sessions"`
		}
		if err := json.Unmarshal(p.Steps[i].Response, &response); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range response.Sessions {
			for name, id := range p.Sessions {
				if id == s.SessionID {
					got = append(got, name)
					if !strings.Contains(s.Title, name) || s.Cwd != here {
						t.Errorf("the session %s is listed with the title %q in %s", name, s.Title, s.Cwd)
					}
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed are %v, expected %v", got, want)
		}
	}
}

func TestTheModesAreSetAndWhatTheyAllowIsNotAsked(t *testing.T) {
	withAndWithoutEditor(t, func(t *testing.T, editor bool) {
		dir := folder(t, nil)
		mode := func(id string) step {
			return step{Do: "request", Method: "session/set_mode", Session: "s", Params: map[string]any{"modeId": id}}
		}
		p := playWherry(
			t, t.TempDir(), editor,
			step{Do: "new", Session: "s", Cwd: dir},
			mode("edits"),
			step{Do: "prompt", Session: "s", Text: "create edits.txt: hello"},
			mode("auto"),
			step{Do: "prompt", Session: "s", Text: "run echo hello > auto.txt"},
			mode("off"),
			step{Do: "prompt", Session: "s", Text: "create off.txt: hello"},
		)
		for i, name := range map[int]string{2: "edits.txt", 4: "auto.txt", 6: "off.txt"} {
			if asked := p.Steps[i].Permissions; len(asked) != 0 {
				t.Errorf("%s was asked: %+v", name, asked)
			}
			if _, there := onDisk(t, filepath.Join(dir, name)); there != (name != "off.txt") {
				t.Errorf("%s is there: %v", name, there)
			}
		}
	})
}

// assertCalls checks that there was one tool call for each of the statuses, which it ended with.
func assertCalls(t *testing.T, updates []update, statuses ...string) {
	t.Helper()
	var got []string
	for _, c := range toolCalls(updates) {
		got = append(got, c.status())
	}
	if !slices.Equal(got, statuses) {
		t.Errorf("the tool calls ended as %v, expected %v", got, statuses)
	}
}
