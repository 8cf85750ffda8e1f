package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// dialogue is a person at a terminal with wherry setup.
type dialogue struct {
	t    *testing.T
	home string
	tty  *os.File
	cmd  *exec.Cmd

	mu     sync.Mutex
	more   *sync.Cond
	screen bytes.Buffer // all that was shown
	seen   int          // up to where it was looked at
	closed bool
	read   sync.WaitGroup
}

const rightKey = "sk-ant-canary-0123456789-wxyz"

func startSetup(t *testing.T, env ...string) *dialogue {
	t.Helper()
	program, err := exec.LookPath("wherry") // what TestMain put there
	if err != nil {
		t.Fatal(err)
	}
	server, err := modeltest.Listen(modeltest.Options{Key: rightKey, Default: "[[text: ready]]", Models: []string{"claude-sonnet-5-5", "claude-x"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	d := &dialogue{t: t, home: t.TempDir()}
	d.more = sync.NewCond(&d.mu)
	d.cmd = exec.CommandContext(t.Context(), program, "setup")
	d.cmd.Env = append([]string{
		"HOME=" + d.home, "PATH=" + filepath.Dir(program), "WHERRY_KEYRING=off", "ANTHROPIC_BASE_URL=" + server.URL,
		"OLLAMA_HOST=http://127.0.0.1:1", "LMSTUDIO_BASE_URL=http://127.0.0.1:1", "WHERRY_CONFIG=" + d.path("config.toml"), "WHERRY_STATE=" + d.path("state"),
		"XDG_CONFIG_HOME=" + d.path("conf"),
	}, env...)
	if err := os.MkdirAll(d.path(".jetbrains"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.start()
	return d
}

// start starts the program on a terminal.
func (d *dialogue) start() {
	d.t.Helper()
	var err error
	if d.tty, err = pty.Start(d.cmd); err != nil {
		d.t.Fatal(err)
	}
	d.read.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, err := d.tty.Read(buffer)
			d.mu.Lock()
			d.screen.Write(buffer[:n])
			d.closed = err != nil
			d.more.Broadcast()
			d.mu.Unlock()
			if err != nil { // the program has ended
				return
			}
		}
	})
	d.t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		d.tty.Close()
		d.read.Wait()
	})
}

func (d *dialogue) path(name string) string { return filepath.Join(d.home, name) }

// expect waits until text is shown, behind all that was expected before.
func (d *dialogue) expect(text string) {
	d.t.Helper()
	late := time.AfterFunc(30*time.Second, func() { // so that a failure is told
		d.mu.Lock()
		defer d.mu.Unlock()
		d.closed = true
		d.more.Broadcast()
	})
	defer late.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		if i := strings.Index(d.screen.String()[d.seen:], text); i >= 0 {
			d.seen += i + len(text)
			return
		}
		if d.closed {
			d.t.Fatalf("%q was not shown; the screen is\n%s", text, d.screen.String())
		}
		d.more.Wait()
	}
}

func (d *dialogue) answer(question, answer string) {
	d.t.Helper()
	d.expect(question)
	if _, err := d.tty.WriteString(answer); err != nil {
		d.t.Fatal(err)
	}
}

// ended waits for the end of the program and gives its exit code and everything that was shown.
func (d *dialogue) ended() (code int, screen string) {
	d.t.Helper()
	_ = d.cmd.Wait()
	d.read.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cmd.ProcessState.ExitCode(), d.screen.String()
}

// untouched fails if anything was written in the home.
func (d *dialogue) untouched() {
	d.t.Helper()
	for _, name := range []string{"config.toml", "state", "conf", ".jetbrains/acp.json"} {
		if _, err := os.Lstat(d.path(name)); err == nil {
			d.t.Errorf("%s was written", name)
		}
	}
}

func (d *dialogue) content(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(d.path(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

func TestSetupLeadsToAWorkingModelAndEditor(t *testing.T) {
	d := startSetup(t)
	d.expect("anthropic  Anthropic: needs an API key")
	d.expect("ollama     Ollama: does not run")
	d.answer("Its number or name: [1]", "9\n")
	d.answer("number from 1 to 6", "\n")
	d.answer("The API key of Anthropic (it does not show):", "two words\n")
	d.answer("copy it again", "sk-ant-canary-wrong-key-0000\n") // before it is asked for again
	d.answer("or ? for a list: [claude-sonnet-5-5]", "?\n")
	d.expect("not accepted")
	d.answer("or ? for a list: [claude-sonnet-5-5]", "\n")
	d.answer("That did not work: anthropic: the API key was not accepted", "key\n")
	d.answer("The API key of Anthropic", "wrong\x15x\x7f"+rightKey+"\r") // with corrections
	d.answer("or ? for a list:", "?\n")
	d.expect("claude-x")
	d.answer("or ? for a list:", "claude-x\n")
	d.expect("It answers: ready")
	d.expect("JetBrains (found here)")
	d.answer("Which editor? [jetbrains]", "vi\n")
	d.answer("one of zed, jetbrains", "\n")
	d.expect(`"acp"`)
	d.answer("Write this into "+d.path(".jetbrains/acp.json")+"? (yes or no) [yes]", "yes\n")
	d.expect("key for Anthropic is stored")
	d.expect("model is anthropic/claude-x now")
	d.expect("JetBrains knows wherry now")
	code, screen := d.ended()
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(screen, "canary") {
		t.Errorf("a key shows on the screen:\n%s", screen)
	}
	if got := d.content("config.toml"); got != "model = \"anthropic/claude-x\"\n" {
		t.Errorf("the settings are %q", got)
	}
	if !strings.Contains(d.content("state/keys.json"), rightKey) || !strings.Contains(d.content(".jetbrains/acp.json"), "agent_servers") {
		t.Error("not all is stored")
	}
}

func TestAKeyInTheEnvironmentIsFoundAndOfferedToBeStored(t *testing.T) {
	d := startSetup(t, "ANTHROPIC_API_KEY="+rightKey)
	d.expect("key sk-…wxyz in ANTHROPIC_API_KEY")
	d.answer("Its number or name: [1]", "anthropic\n")
	d.answer("Use the key sk-…wxyz in ANTHROPIC_API_KEY? (yes or no) [yes]", "\n")
	d.answer("Store it too?", "n\n")
	d.answer("or ? for a list:", "\n")
	d.expect("It answers: ready")
	d.answer("Which editor?", "none\n")
	d.expect("model is anthropic/claude-sonnet-5-5 now")
	if code, screen := d.ended(); code != 0 || strings.Contains(screen, "canary") {
		t.Errorf("exit code %d:\n%s", code, screen)
	}
	if _, err := os.Stat(d.path("state")); err == nil {
		t.Error("the key was stored")
	}
}

func TestCtrlCAtAnyQuestionLeavesEverythingAsItWas(t *testing.T) {
	const interrupt = "\x03"
	steps := [][2]string{
		{"Its number or name:", "1\n"}, {"The API key of Anthropic", rightKey + "\n"}, {"or ? for a list:", "\n"},
		{"Which editor?", "jetbrains\n"}, {"Write this into", "yes\n"},
	}
	for n := range steps {
		t.Run(steps[n][0], func(t *testing.T) {
			d := startSetup(t)
			for _, step := range steps[:n] {
				d.answer(step[0], step[1])
			}
			d.answer(steps[n][0], interrupt)
			// What the program says then, the terminal may drop with the rest of its output.
			if code, _ := d.ended(); code != exitInterrupted {
				t.Errorf("exit code %d", code)
			}
			d.untouched()
		})
	}
	t.Run("with the end of the input", func(t *testing.T) {
		d := startSetup(t)
		d.answer("Its number or name:", "\x04")
		d.expect("Everything is as it was.")
		if code, _ := d.ended(); code == 0 {
			t.Error("it counts as done")
		}
		d.untouched()
	})
}

func TestTheTerminalShowsWhatIsTypedAgainAfterAnInterruptedKey(t *testing.T) {
	d := startSetup(t)
	d.answer("Its number or name:", "1\n")
	d.answer("The API key of Anthropic", "\x03") // which is no signal there
	d.expect("Everything is as it was.")
	d.ended()
	if echo := echoes(t, d.tty); !echo {
		t.Error("the terminal does not echo any more")
	}
}

// echoes tells whether a terminal shows what is typed.
func echoes(t *testing.T, tty *os.File) bool {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return settings.Lflag&unix.ECHO != 0
}
