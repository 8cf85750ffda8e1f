package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
)

// fileName is the session store's name in the state folder.
const fileName = "sessions.db"

// DefaultPath is where the sessions of this user are kept: the file sessions.db in the folder WHERRY_STATE, else in
// $XDG_STATE_HOME/wherry or ~/.local/state/wherry (on macOS ~/Library/Application Support/wherry, on Windows
// %LOCALAPPDATA%\wherry). It looks only at the environment, through lookupEnv (usually [os.LookupEnv]), and creates
// nothing. Its error says which variable to set.
func DefaultPath(lookupEnv func(string) (string, bool)) (string, error) {
	return defaultPath(runtime.GOOS, lookupEnv)
}

func defaultPath(goos string, lookupEnv func(string) (string, bool)) (string, error) {
	get := func(name string) string {
		value, _ := lookupEnv(name)
		return value
	}
	if folder := get("WHERRY_STATE"); folder != "" {
		if !filepath.IsAbs(folder) {
			return "", fmt.Errorf("WHERRY_STATE is %q: set it to an absolute path, so that it names the same folder everywhere", folder)
		}
		return filepath.Join(folder, fileName), nil
	}
	if folder := get("XDG_STATE_HOME"); filepath.IsAbs(folder) { // a relative one is to be ignored
		return filepath.Join(folder, "wherry", fileName), nil
	}
	home := get("HOME")
	switch goos {
	case "windows":
		if folder := get("LOCALAPPDATA"); folder != "" {
			return filepath.Join(folder, "wherry", fileName), nil
		}
		return "", errors.New("no folder for the sessions is known, because LOCALAPPDATA is not set: set WHERRY_STATE to a folder of yours")
	case "darwin", "ios":
		if filepath.IsAbs(home) {
			return filepath.Join(home, "Library", "Application Support", "wherry", fileName), nil
		}
	default:
		if filepath.IsAbs(home) {
			return filepath.Join(home, ".local", "state", "wherry", fileName), nil
		}
	}
	return "", errors.New("no folder for the sessions is known, because HOME is not set: set WHERRY_STATE to a folder of yours")
}
