//go:build unix

package editors

import (
	"os"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func TestWhatASecretFileHoldsReachesTheModelByNoWay(t *testing.T) {
	const canary = "correct-horse-battery-staple"
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, map[string]string{".env": "DATABASE_PASSWORD=" + canary + "\nMOTTO=of " + canary + "\n", "main.go": "package main // reads canary words\n"})
		if err := os.Symlink(".env", d.path("innocent.txt")); err != nil {
			t.Fatal(err)
		}
		d.answers(acp.PermissionRejectOnce)
		s := d.open()
		if err := s.SetMode(t.Context(), "auto"); err != nil { // in which whatever is not asked for runs
			t.Fatal(err)
		}
		for _, call := range []string{
			`view {"path":".env"}`, `view {"path":"innocent.txt"}`, `view {"path":"` + d.path(".env") + `"}`,
			`search {"pattern":"horse"}`, `search {"pattern":"horse","path":".env"}`, `search {"pattern":"horse","path":"innocent.txt"}`,
			`find {"pattern":"*env*"}`, `list {}`,
			`edit {"path":".env","edits":[{"old":"MOTTO","new":"MOT"}]}`, `create {"path":".env","content":"x","overwrite":true}`,
			`run {"command":"cat .env"}`, `run {"command":"grep -r horse ."}`, `run {"command":"grep -rn horse ."}`,
			`run {"command":"cat .e*"}`, `run {"command":"head innocent.txt"}`, `run {"command":"cat *.txt"}`, `run {"command":"cd / && cat ` + d.folder + `/.[e]nv"}`,
		} {
			d.say(s, "[[anew]] [[call: "+call+"]] [[text: done]]")
		}
		turn := s.Prompt(t.Context(), acp.ResourceLink{Name: ".env", URI: "file://" + d.path(".env")}, acp.Text("[[anew]] [[text: done]]"))
		for range turn.Updates() {
		}
		if _, err := turn.Result(); err != nil {
			t.Fatal(err)
		}
		d.say(s, "/compact")
		d.say(s, "[[anew]] [[text: done]]")
		d.restart()
		s, _ = d.load(s.ID())
		d.say(s, "[[anew]] [[text: done]]")
		requests := d.model.Requests()
		if len(requests) < 30 {
			t.Errorf("there were only %d requests", len(requests))
		}
		for i, req := range requests {
			if at := strings.Index(string(req.Body), canary); at >= 0 {
				t.Errorf("request %d holds the secret: …%s…", i, req.Body[max(0, at-300):min(len(req.Body), at+60)])
				break
			}
		}
		if got := d.saved(".env"); !strings.Contains(got, "MOTTO=of") {
			t.Errorf(".env is now %q", got)
		}
	})
}
