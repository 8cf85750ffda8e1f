package session

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestDefaultPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths below are not absolute there")
	}
	for _, test := range []struct {
		name string
		goos string
		env  map[string]string
		want string // or what the error says
	}{
		{"a home folder", "linux", map[string]string{"HOME": "/h"}, "/h/.local/state/wherry/sessions.db"},
		{"a state folder of the desktop", "linux", map[string]string{"HOME": "/h", "XDG_STATE_HOME": "/s"}, "/s/wherry/sessions.db"},
		{"a relative one is ignored", "linux", map[string]string{"HOME": "/h", "XDG_STATE_HOME": "s"}, "/h/.local/state/wherry/sessions.db"},
		{"without HOME", "linux", map[string]string{"XDG_STATE_HOME": "/s"}, "/s/wherry/sessions.db"},
		{"our own folder", "linux", map[string]string{"HOME": "/h", "XDG_STATE_HOME": "/s", "WHERRY_STATE": "/w/"}, "/w/sessions.db"},
		{"our own folder without HOME", "linux", map[string]string{"WHERRY_STATE": "/w"}, "/w/sessions.db"},
		{"our own folder, empty", "linux", map[string]string{"HOME": "/h", "WHERRY_STATE": ""}, "/h/.local/state/wherry/sessions.db"},
		{"our own folder, relative", "linux", map[string]string{"HOME": "/h", "WHERRY_STATE": "w"}, "WHERRY_STATE is \"w\": set it to an absolute path"},
		{"nothing", "linux", nil, "HOME is not set: set WHERRY_STATE"},
		{"macOS", "darwin", map[string]string{"HOME": "/h"}, "/h/Library/Application Support/wherry/sessions.db"},
		{"macOS without HOME", "darwin", nil, "HOME is not set: set WHERRY_STATE"},
		{"Windows", "windows", map[string]string{"HOME": "/h", "LOCALAPPDATA": "/local"}, "/local/wherry/sessions.db"},
		{"Windows without a folder", "windows", map[string]string{"HOME": "/h"}, "LOCALAPPDATA is not set: set WHERRY_STATE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := defaultPath(test.goos, func(name string) (string, bool) {
				value, ok := test.env[name]
				return value, ok
			})
			if err != nil {
				if got != "" || filepath.IsAbs(test.want) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %q and %v, want %q", got, err, test.want)
				}
				return
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
