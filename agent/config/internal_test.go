package config

import (
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBuiltInValuesAreValid(t *testing.T) {
	for _, o := range options() {
		for _, text := range []string{o.builtin, o.strictest} {
			if text == "" {
				continue
			}
			if err := o.apply(&Settings{}, value{text: text}); err != nil {
				t.Errorf("%s: %v", o.key, err)
			}
		}
	}
}

func TestThePersonsFileIsWhereTheSystemKeepsConfiguration(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths below are not absolute there")
	}
	for _, test := range []struct {
		name, goos string
		env        map[string]string
		want       string // or what the error says
	}{
		{"a home folder", "linux", map[string]string{"HOME": "/h"}, "/h/.config/wherry/config.toml"},
		{"a folder of the desktop", "linux", map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/c"}, "/c/wherry/config.toml"},
		{"a relative one is ignored", "linux", map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "c"}, "/h/.config/wherry/config.toml"},
		{"our own file", "linux", map[string]string{"HOME": "/h", "WHERRY_CONFIG": "/w/x.toml"}, "/w/x.toml"},
		{"our own file, relative", "linux", map[string]string{"HOME": "/h", "WHERRY_CONFIG": "x.toml"}, "set it to an absolute path"},
		{"nothing", "linux", nil, "HOME is not set"},
		{"macOS", "darwin", map[string]string{"HOME": "/h"}, "/h/Library/Application Support/wherry/config.toml"},
		{"Windows", "windows", map[string]string{"APPDATA": "/a"}, "/a/wherry/config.toml"},
		{"Windows without a folder", "windows", map[string]string{"HOME": "/h"}, "APPDATA is not set"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := defaultPath(test.goos, func(name string) (string, bool) { v, ok := test.env[name]; return v, ok })
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func FuzzAFileIsReadOrRefusedWithItsPlace(f *testing.F) {
	for _, seed := range []string{
		"", "model = \"a/b\"\n", "[mcp.x]\ncommand='c'\n", "mcp = {x={command='c',env={A='b'}}}", "[[budget]]\nsteps=1", "a.b.c=1",
		"model='''a/\nb'''", "[providers.\"a.b\".model.x]\ncontext_window=-1\n", "\"model\"='a/b'", "mode=1979-05-27",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, problems := place{layer: Global, path: "/f"}.parse(data)
		for _, p := range problems {
			if p.Path != "/f" || p.Text == "" || p.Line < 0 {
				t.Errorf("problem %+v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		for _, key := range []string{"model", "budget.steps"} {
			edited, err := edit(data, strings.Split(key, "."), "1")
			if err != nil {
				continue
			}
			if err := differsIn(data, edited, strings.Split(key, ".")); err != nil {
				t.Errorf("%q became %q", data, edited)
			}
		}
	})
}
