package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/tool"
)

// How editors are given time to load what a command has changed on the disk.
const (
	reloadEvery = 100 * time.Millisecond
	reloadTries = 6
	maxBuffers  = 1000 // files that are watched
)

// stamp tells whether a file on the disk was changed.
type stamp struct {
	time time.Time
	size int64
}

// buffers notes what is on the disk of the files that were seen in the editor, before a command runs.
func (t *turn) buffers(ctx context.Context) map[string]stamp {
	out := map[string]stamp{}
	for path, version := range t.s.State().Views {
		if version.Source != host.FromEditor || len(out) == maxBuffers {
			continue
		}
		if info, err := t.host.Stat(ctx, path); err == nil {
			out[path] = stamp{info.ModTime, info.Size}
		}
	}
	return out
}

// compareBuffers finds the files that a command has changed on the disk while the editor goes on showing another text. The
// model and the person are told, and nothing is written over without asking: see [session.State].Diverged.
func (t *turn) compareBuffers(ctx context.Context, before map[string]stamp, result *tool.Result) {
	var names []string
	for path, was := range before {
		info, err := t.host.Stat(ctx, path)
		if err != nil || info.ModTime.Equal(was.time) && info.Size == was.size {
			continue
		}
		digest, differs := t.differs(ctx, path)
		if !differs {
			continue
		}
		if result.Diverged == nil {
			result.Diverged = map[string]string{}
		}
		result.Diverged[path] = digest
		names = append(names, info.Path.Show)
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	list := strings.Join(names, ", ")
	say := fmt.Sprintf("The command changed %s on the disk, and the editor has another text, which is what you view and edit. "+
		"Neither was written over: before you edit there, ask the person to load the file from the disk or to save it.", list)
	at := len(result.Text)
	if end := result.Ended; end != nil && end.Output > 0 {
		at = end.Output
		say += "\n\n"
		end.Output += len(say)
	} else {
		say = "\n" + say
	}
	result.Text = result.Text[:at] + say + result.Text[at:]
	warning := fmt.Sprintf("A command changed %s on the disk while your editor has another text of it. Load it from the disk or save it; "+
		"until then each edit there is asked for.", list)
	if err := t.notice(ctx, "warning", warning); err != nil {
		t.s.agent.log.Warn("tell of a file that differs", "session", t.s.id, "error", err)
	}
}

// differs tells whether the editor's text of a file is another one than the disk's, also after the editor had time to load
// it, and gives the digest of the disk's.
func (t *turn) differs(ctx context.Context, path string) (string, bool) {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	digest := ""
	for range reloadTries {
		raw, err := t.host.ReadBytes(ctx, path, host.DefaultMaxText)
		if err != nil {
			return "", false
		}
		disk, err := host.Decode(raw)
		if err != nil {
			return "", false
		}
		shown, err := t.host.Read(ctx, path)
		if err != nil || shown.Version.Source != host.FromEditor || shown.Content == disk.Content {
			return "", false
		}
		digest = disk.Version.Digest
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", false
		}
	}
	return digest, true
}
