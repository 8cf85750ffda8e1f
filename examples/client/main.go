// Client talks to any ACP agent from a terminal: each line that is typed is a prompt, and what the agent does is shown
// as it happens. It offers the agent the files and terminals of the current folder, and asks before the agent acts.
//
//	go run github.com/wherry-acp/wherry/examples/client COMMAND [ARGS...]
//
// Ctrl-C stops the turn, at the prompt it ends the program.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/clienthost"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: client COMMAND [ARGS...]")
	}
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, command []string, in io.Reader, out io.Writer) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	files, err := clienthost.NewFiles(dir)
	if err != nil {
		return err
	}
	defer files.Close()
	terminals := &clienthost.Terminals{Dir: dir}
	defer terminals.Close()
	lines := bufio.NewScanner(in)
	ui := &terminal{lines: lines, out: out}

	agent, err := acp.Spawn(ctx, exec.Command(command[0], command[1:]...), &acp.ClientOptions{
		Files: files, Terminals: terminals, Permission: acp.PermissionFunc(ui.ask),
	})
	if err != nil {
		return err
	}
	defer agent.Close() // the process, and everything it has started, is gone then
	if info := agent.Info(); info != nil {
		fmt.Fprintf(out, "Talking to %s %s.\n", info.Name, info.Version)
	}
	session, err := agent.NewSession(ctx, acp.NewSessionRequest{Cwd: dir})
	if err != nil {
		return err
	}
	for fmt.Fprint(out, "\n> "); lines.Scan(); fmt.Fprint(out, "\n> ") {
		result, err := ui.turn(ctx, session, lines.Text())
		if errors.Is(err, acp.ErrConnectionClosed) {
			return err // the agent is gone: the error says why
		}
		if err != nil {
			fmt.Fprintf(out, "error: %v\n", err)
		} else if result.StopReason != acp.StopEndTurn {
			fmt.Fprintf(out, "[%s]\n", result.StopReason)
		}
	}
	return lines.Err()
}

// A terminal shows what happens. While a turn runs nobody else reads its lines.
type terminal struct {
	lines *bufio.Scanner
	out   io.Writer
}

// turn sends one prompt and shows what comes of it. Ctrl-C ends ctx, and with it the turn: the agent is told, and has a
// moment to say how far it got.
func (t *terminal) turn(ctx context.Context, session *acp.Session, text string) (acp.PromptResponse, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	turn := session.Prompt(ctx, acp.Text(text))
	for update := range turn.Updates() {
		t.show(update)
	}
	fmt.Fprintln(t.out)
	return turn.Result()
}

func (t *terminal) show(update acp.SessionUpdate) {
	switch u := update.(type) {
	case acp.AgentMessageChunk:
		fmt.Fprint(t.out, acp.PlainText(u.Content))
	case acp.ToolCall:
		fmt.Fprintf(t.out, "* %s\n", u.Title)
		t.diffs(u.Content)
	case acp.ToolCallUpdate:
		if u.Status == acp.ToolCallCompleted || u.Status == acp.ToolCallFailed {
			fmt.Fprintf(t.out, "  %s\n", u.Status)
		}
		t.diffs(u.Content)
	case acp.Plan:
		for _, entry := range u.Entries {
			fmt.Fprintf(t.out, "  [%s] %s\n", entry.Status, entry.Content)
		}
	}
}

func (t *terminal) diffs(content []acp.ToolCallContent) {
	for _, c := range content {
		if diff, ok := c.(acp.ToolCallDiff); ok {
			fmt.Fprintf(t.out, "  %s: %d bytes instead of %d\n", diff.Path, len(diff.NewText), len(diff.OldText.Or("")))
		}
	}
}

// ask lets the person choose one of the options that the agent offers. No answer is a refusal.
func (t *terminal) ask(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	fmt.Fprintln(t.out, "  May it?")
	for i, o := range req.Options {
		fmt.Fprintf(t.out, "  %d. %s\n", i+1, o.Name)
	}
	fmt.Fprint(t.out, "  ? ")
	choice := 0
	if t.lines.Scan() {
		_, _ = fmt.Sscan(t.lines.Text(), &choice) // what is no number stays 0, which is no option
	}
	if choice < 1 || choice > len(req.Options) {
		return acp.RequestPermissionResponse{Outcome: acp.CancelledPermissionOutcome{}}, nil
	}
	return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: req.Options[choice-1].OptionID}}, nil
}
