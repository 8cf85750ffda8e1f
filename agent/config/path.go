package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
)

// fileName is the name of both files; the project's lies in the folder projectFolder.
const (
	fileName      = "config.toml"
	projectFolder = ".wherry"
)

// CommandsFolder is the name of the folder with slash commands, beside the person's file and in the project's folder
// .wherry, unless the settings name another one.
const CommandsFolder = "commands"

// DefaultPath is the person's file: the one that WHERRY_CONFIG names, else wherry/config.toml in the folder for
// configuration: $XDG_CONFIG_HOME or ~/.config, on macOS ~/Library/Application Support, on Windows %AppData%. It
// looks only at the environment. Its error says which variable to set.
func DefaultPath(lookup func(string) (string, bool)) (string, error) {
	return defaultPath(runtime.GOOS, lookup)
}

func defaultPath(goos string, lookup func(string) (string, bool)) (string, error) {
	get := func(name string) string {
		value, _ := lookup(name)
		return value
	}
	if path := get("WHERRY_CONFIG"); path != "" {
		if !filepath.IsAbs(path) {
			return "", fmt.Errorf("WHERRY_CONFIG is %q: set it to an absolute path, so that it names the same file everywhere", path)
		}
		return filepath.Clean(path), nil
	}
	if folder := get("XDG_CONFIG_HOME"); filepath.IsAbs(folder) { // a relative one is to be ignored
		return filepath.Join(folder, "wherry", fileName), nil
	}
	home := get("HOME")
	switch goos {
	case "windows":
		if folder := get("APPDATA"); folder != "" {
			return filepath.Join(folder, "wherry", fileName), nil
		}
		return "", errors.New("no folder for the configuration is known, because APPDATA is not set: set WHERRY_CONFIG to a file of yours")
	case "darwin", "ios":
		if filepath.IsAbs(home) {
			return filepath.Join(home, "Library", "Application Support", "wherry", fileName), nil
		}
	default:
		if filepath.IsAbs(home) {
			return filepath.Join(home, ".config", "wherry", fileName), nil
		}
	}
	return "", errors.New("no folder for the configuration is known, because HOME is not set: set WHERRY_CONFIG to a file of yours")
}

// ProjectCommandsPath is the folder with a project's slash commands, unless its file names another one.
func ProjectCommandsPath(folder string) string {
	return filepath.Join(folder, projectFolder, CommandsFolder)
}

// ProjectPath is the project's file for a session in this folder.
func ProjectPath(folder string) string { return filepath.Join(folder, projectFolder, fileName) }
