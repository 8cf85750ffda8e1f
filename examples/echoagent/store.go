package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// A store keeps sessions, each a file: its info in the first line, then an update a line, as they were sent.
type store struct{ dir string }

// A session is an open session.
type session struct {
	mu   sync.Mutex
	file *os.File
	info acp.SessionInfo
	mode acp.SessionModeID
}

func (s store) path(id acp.SessionID) (string, error) {
	// The id comes from the client: it names a file of the store or nothing.
	if id == "" || strings.ContainsAny(string(id), `/\.`) {
		return "", acp.SessionNotFound(id)
	}
	return filepath.Join(s.dir, string(id)+".jsonl"), nil
}

// create makes a session.
func (s store) create(info acp.SessionInfo) (*session, error) {
	path, err := s.path(info.SessionID)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	open := &session{file: file, info: info, mode: "plain"}
	return open, open.append(info)
}

// open reads a session's updates and opens it for more.
func (s store) open(id acp.SessionID) (*session, []acp.SessionUpdate, error) {
	path, err := s.path(id)
	if err != nil {
		return nil, nil, err
	}
	info, updates, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, acp.SessionNotFound(id)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	open := &session{file: file, info: info, mode: "plain"}
	for _, u := range updates {
		if u, ok := u.(acp.CurrentModeUpdate); ok {
			open.mode = u.CurrentModeID
		}
	}
	return open, updates, nil
}

// list returns the sessions, the newest first.
func (s store) list(cwd string) ([]acp.SessionInfo, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	all := []acp.SessionInfo{}
	for _, file := range files {
		info, updates, err := read(file)
		if err != nil {
			return nil, err
		}
		for _, u := range updates {
			if u, ok := u.(acp.SessionInfoUpdate); ok {
				info.Title, info.UpdatedAt = u.Title.Apply(info.Title), u.UpdatedAt.Apply(info.UpdatedAt)
			}
		}
		if cwd == "" || info.Cwd == cwd {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b acp.SessionInfo) int { return strings.Compare(b.UpdatedAt, a.UpdatedAt) })
	return all, nil
}

func (s store) delete(id acp.SessionID) error {
	path, err := s.path(id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func read(path string) (info acp.SessionInfo, updates []acp.SessionUpdate, err error) {
	file, err := os.Open(path)
	if err != nil {
		return info, nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 32<<20)
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			if err := json.Unmarshal(lines.Bytes(), &info); err != nil {
				return info, nil, fmt.Errorf("read %s: %w", path, err)
			}
			continue
		}
		u, err := acp.UnmarshalSessionUpdate(lines.Bytes())
		if err != nil {
			return info, nil, fmt.Errorf("read %s: line %d: %w", path, n+1, err)
		}
		updates = append(updates, u)
	}
	return info, updates, lines.Err()
}

// append writes one line to the session's file.
func (s *session) append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.file.Write(append(line, '\n'))
	return err
}

// keep writes an update to the session's file.
func (s *session) keep(u acp.SessionUpdate) error {
	line, err := acp.MarshalSessionUpdate(u)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(json.RawMessage(line))
}

// now is the time as the protocol writes it.
func now() string { return time.Now().UTC().Format(time.RFC3339) }
