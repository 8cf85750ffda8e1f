package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// Command is what a prompt can be that begins with a slash and its name. wherry answers it itself, without the model,
// or puts another prompt in its place.
type Command struct {
	Name        string // without the slash
	Description string
	Hint        string // what may follow the name; empty when nothing does
}

// command is a Command with what it does.
type command struct {
	Command
	// answer gives Markdown for the person. Its error is for the person, too: a sentence.
	answer func(ctx context.Context, t *turn, args string) (string, error)
	// prompt gives what the model gets; begin, which may be nil, is done before. When both answer and prompt are there, a
	// command with something after its name is a prompt.
	prompt func(args string) string
	begin  func(ctx context.Context, t *turn) error
	mode   approval.Mode // that holds in its turn where it is stricter than the session's; empty for none
}

// commands are wherry's own.
func commands() []command {
	return []command{
		{Command: Command{"help", "What you can say here", ""}, answer: help},
		{Command: Command{"status", "This session: folder, model, mode, context", ""}, answer: status},
		{Command: Command{"model", "Show the models, or choose one", "PROVIDER/NAME"}, answer: choose(SettingModel)},
		{Command: Command{"mode", "Show the modes, or choose what may be done unasked", "off | plan | ask | edits | auto"}, answer: choose(SettingMode)},
		{Command: Command{"permissions", "Show what you have allowed for this session, or take it back", "forget NUMBER | forget all"}, answer: permissions},
		{Command: Command{"effort", "Show or choose how much the model reasons", "LEVEL"}, answer: choose(SettingThought)},
		{Command: Command{retryCommand, "Try the last prompt again, when it failed or was stopped", ""}, answer: cannotRetry},
		{Command: Command{"plan", "Show the plan, or plan a piece of work before it is begun", "what to plan"}, answer: showPlan, prompt: planPrompt, begin: beginPlan},
		{Command: Command{"cost", "Show the tokens used and what they cost", ""}, answer: cost},
		{Command: Command{"tools", "Show what the model can do here", ""}, answer: showTools},
		{Command: Command{"mcp", "Show the MCP servers, or start one anew", "restart NAME"}, answer: showServers},
		{Command: Command{"sessions", "Show the newest sessions of this folder", ""}, answer: showSessions},
		{Command: Command{"export", "Write this conversation into a file, as Markdown or JSON lines", "[md | jsonl] [FILE]"}, answer: exportConversation},
		{Command: Command{"rename", "Give this session a title", "TITLE"}, answer: rename},
		{Command: Command{"compact", "Put a summary in place of the conversation so far, to make room", "what to keep above all"}, answer: compactConversation},
		{Command: Command{"clear", "Have the model forget the conversation so far", ""}, answer: clearConversation},
		{Command: Command{"init", "Write an AGENTS.md for this folder", "what to mind"}, prompt: initPrompt},
	}
}

// Commands are those of the session, in the order in which they are shown.
func (s *Session) Commands() []Command {
	var out []Command
	for _, c := range s.commands() {
		out = append(out, c.Command)
	}
	return out
}

// commandOf finds the command of the session that a prompt is.
func (s *Session) commandOf(prompt []session.Block) (command, string, bool) {
	return commandOf(prompt, s.commands())
}

// commandOf finds the command that a prompt is: its first text begins with a slash and the name of a command.
// Everything else that begins with a slash (a path) is a prompt like any other.
func commandOf(prompt []session.Block, all []command) (c command, args string, ok bool) {
	if len(prompt) == 0 || prompt[0].Type != session.BlockText {
		return command{}, "", false
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(prompt[0].Text), "/")
	if !ok {
		return command{}, "", false
	}
	name, args := text, ""
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		name, args = text[:i], strings.TrimSpace(text[i:])
	}
	i := slices.IndexFunc(all, func(c command) bool { return c.Name == name })
	if i < 0 {
		return command{}, "", false
	}
	c = all[i]
	if c.prompt != nil && args != "" {
		c.answer = nil
	} else if c.answer != nil {
		c.prompt = nil
	}
	return c, args, true
}

// answer runs a command in place of the model.
func (t *turn) answer(ctx context.Context, c command, args string) error {
	text, err := c.answer(ctx, t, args)
	return t.reply(ctx, text, err)
}

// reply is what the person sees of a command: its text, or why it failed.
func (t *turn) reply(ctx context.Context, text string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		t.s.agent.log.Debug("a command failed", "session", t.s.id, "command", t.command.Name, "error", err)
		text = sentence(err.Error())
	}
	return t.s.record(ctx, session.CommandAnswered{Message: session.NewMessageID(), Text: text})
}

// sentence begins with a capital and ends with a stop.
func sentence(text string) string {
	if text == "" {
		return text
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text
}

func help(_ context.Context, t *turn, _ string) (string, error) {
	s := t.s
	var b strings.Builder
	b.WriteString("Say what you want in your own words. These commands wherry knows:\n\n")
	for _, c := range s.Commands() {
		name := "/" + c.Name
		if c.Hint != "" {
			name += " " + c.Hint
		}
		fmt.Fprintf(&b, "- `%s`: %s\n", name, c.Description)
	}
	if s.agent.info(s.State().Model).Offline {
		b.WriteString("\nThe model is the embedded one: say `help`, without the slash, for what it understands.\n")
	}
	return b.String(), nil
}

func status(_ context.Context, t *turn, _ string) (string, error) {
	s := t.s
	st := s.State()
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "- %s: %s\n", name, fmt.Sprintf(format, args...))
	}
	row("session", "`%s`%s", s.id, titled(st.Title))
	row("folder", "`%s`", strings.Join(st.Roots, "`, `"))
	for _, o := range s.Settings() {
		row(strings.ToLower(o.Name), "%s", o.Value)
	}
	if st.Edits {
		row("edits", "every edit of this session is allowed")
	}
	used := st.Usage.Usage.Input + st.Usage.Usage.Output
	switch {
	case st.Usage.Window > 0:
		row("context", "%s of %s tokens (%d %%)", tokens(used), tokens(st.Usage.Window), 100*used/st.Usage.Window)
	case used > 0:
		row("context", "%s tokens", tokens(used))
	}
	if text := costText(st.Cost); text != "" && st.Spent != (model.Usage{}) {
		row("cost", "%s", text)
	}
	row("prompts answered by a model", "%d", st.Turns)
	return b.String(), nil
}

func titled(title string) string {
	if title == "" {
		return ""
	}
	return ", " + title
}

// choose shows a setting, or makes it.
func choose(id SettingID) func(context.Context, *turn, string) (string, error) {
	return func(ctx context.Context, t *turn, args string) (string, error) {
		s := t.s
		if args != "" {
			if err := s.Set(ctx, id, args); err != nil {
				return "", err
			}
		}
		for _, o := range s.Settings() {
			if o.ID != id {
				continue
			}
			if args != "" {
				return fmt.Sprintf("%s: **%s**", o.Name, o.Value), nil
			}
			return showSetting(o), nil
		}
		return "There is nothing to choose: the model has no levels of reasoning.", nil
	}
}

func showSetting(o Setting) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: **%s**\n\n", o.Name, o.Value)
	for _, c := range o.Choices {
		fmt.Fprintf(&b, "- `%s`", c.Value)
		if c.Description != "" {
			b.WriteString(": " + c.Description)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func showPlan(_ context.Context, t *turn, _ string) (string, error) {
	s := t.s
	entries := s.Entries()
	if len(entries) == 0 {
		return "There is no plan. Say `/plan` and a piece of work to have it planned before anything is done.", nil
	}
	marks := map[tool.PlanStatus]string{tool.PlanPending: " ", tool.PlanInProgress: "~", tool.PlanCompleted: "x"}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "- [%s] %s\n", marks[e.Status], e.Content)
	}
	return b.String(), nil
}

func showTools(_ context.Context, t *turn, _ string) (string, error) {
	s := t.s
	var b strings.Builder
	for _, tl := range s.tools() {
		spec := tl.Spec()
		first, _, _ := strings.Cut(strings.TrimSpace(spec.Description), "\n")
		fmt.Fprintf(&b, "- `%s`: %s\n", spec.Name, first)
	}
	return b.String(), nil
}

// sessionsShown is how many sessions the command lists.
const sessionsShown = 10

func showSessions(ctx context.Context, t *turn, _ string) (string, error) {
	s := t.s
	page, err := s.agent.List(ctx, session.Filter{Folder: s.State().Roots[0], Limit: sessionsShown})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, info := range page.Sessions {
		title := info.Title
		if title == "" {
			title = "(no prompt yet)"
		}
		here := ""
		if info.ID == s.id {
			here = ", this one"
		}
		fmt.Fprintf(&b, "- %s: %s (`%s`%s)\n", info.Updated.Local().Format(time.DateTime), title, info.ID, here)
	}
	if page.Next != "" {
		b.WriteString("- and older ones\n")
	}
	return b.String(), nil
}

func rename(ctx context.Context, t *turn, args string) (string, error) {
	s := t.s
	title := session.Title([]session.Block{{Type: session.BlockText, Text: args}})
	if title == "" {
		return "", errors.New("say the title after the command: /rename TITLE")
	}
	if err := s.record(ctx, session.Titled{Title: title, By: "person"}); err != nil {
		return "", err
	}
	return "This session is called **" + title + "** now.", nil
}

func clearConversation(ctx context.Context, t *turn, _ string) (string, error) {
	s := t.s
	data := []session.Data{session.Cleared{}}
	if len(s.Entries()) > 0 {
		data = append(data, session.PlanChanged{})
	}
	if err := s.record(ctx, data...); err != nil {
		return "", err
	}
	return "The model begins anew from here: it gets nothing of what was said before, and views files again before it edits them.", nil
}

func compactConversation(ctx context.Context, t *turn, args string) (string, error) {
	m, err := t.s.model(ctx, t.s.State().Model)
	if err != nil {
		return "", err
	}
	t.model = m
	ended, err := t.compact(ctx, args, 0)
	switch {
	case err != nil:
		return "", err
	case ended.Status != session.CompactionCompleted:
		return "", errors.New(ended.Error)
	}
	return "The model goes on from this summary:\n\n" + ended.Summary, nil
}

func initPrompt(args string) string {
	text := `Write a file AGENTS.md in the root of this folder, for agents and people who work here for the first time. Look first: the layout, how
it is built, tested and run, its conventions. Then write, in at most 60 lines: what it is, the commands that work (try none that change anything),
where things are, the rules that the code itself follows. If there is an AGENTS.md already, improve it instead.`
	if args != "" {
		text += "\n\nMind this: " + args
	}
	return text
}
