package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

func TestAFolderThatLeadsElsewhereThanThePersonWasToldIsNotAdded(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	harmless, private := filepath.Join(base, "harmless"), filepath.Join(base, "private")
	for _, dir := range []string{harmless, private} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, []tool.Tool{builtin(t, "add_root")}, calls(call("c", "add_root", fmt.Sprintf(`{"path":%q,"reason":"x"}`, harmless))), says("ok"))
	r.face.ask = func(context.Context, Question) (Answer, error) {
		if err := os.Remove(harmless); err != nil {
			t.Error(err)
		}
		if err := os.Symlink(private, harmless); err != nil {
			t.Skip("this system makes no symlinks")
		}
		return Answer{Allowed: true}, nil
	}
	r.turn(t, t.Context(), "look there")
	if got := told(r, 1); !strings.Contains(got, "has changed since it was asked for") {
		t.Errorf("the model was told %q", got)
	}
	if roots := r.session.State().Roots; len(roots) != 1 || len(stored[session.Rooted](t, r)) != 0 {
		t.Errorf("the folders are %v", roots)
	}
	if n := len(r.session.hostNow().Roots()); n != 1 {
		t.Errorf("the host has %d folders", n)
	}
}
