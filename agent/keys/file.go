package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wherry-acp/wherry/agent/atomicfile"
)

// file is keys.json in the state folder.
type file struct {
	folder    string
	checkMode bool // permissions say who can read it
}

// fileFormat is its content.
type fileFormat struct {
	Version int               `json:"version"`
	Keys    map[string]string `json:"keys"`
}

const (
	fileName    = "keys.json"
	fileVersion = 1
	maxFile     = 1 << 20 // bytes
)

func (f file) path() string { return filepath.Join(f.folder, fileName) }

// read gives the keys. Without a file there are none. Errors name the file and say what to do, and quote nothing of it.
func (f file) read() (map[string]string, error) {
	if f.folder == "" {
		return nil, nil
	}
	info, err := os.Stat(f.path()) // before it is opened: opening a pipe would wait
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the file of keys cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("the file of keys %s is not a regular file: move it away", f.path())
	}
	handle, err := os.Open(f.path())
	if err != nil {
		return nil, fmt.Errorf("the file of keys cannot be read: %w", err)
	}
	defer handle.Close()
	if info, err = handle.Stat(); err != nil {
		return nil, fmt.Errorf("the file of keys cannot be read: %w", err)
	}
	if mode := info.Mode().Perm(); f.checkMode && mode&0o077 != 0 {
		return nil, fmt.Errorf("others can read the file of keys %s (permissions %03o), so it is not used: take that away with `chmod 600 %s`, and think of replacing the keys",
			f.path(), mode, f.path())
	}
	data, err := io.ReadAll(io.LimitReader(handle, maxFile))
	if err != nil {
		return nil, fmt.Errorf("the file of keys cannot be read: %w", err)
	}
	var content fileFormat
	if json.Unmarshal(data, &content) != nil { // the error could quote a key
		return nil, fmt.Errorf("the file of keys %s is damaged: move it away, then store the keys again with `wherry setup`", f.path())
	}
	if content.Version != fileVersion {
		return nil, fmt.Errorf("the file of keys %s has the version %d, which this program does not know: move it away, or use a newer program", f.path(), content.Version)
	}
	return content.Keys, nil
}

// set stores a key, or removes it when it is empty. A file that cannot be read is left as it is.
func (f file) set(provider, secret string) error {
	if f.folder == "" {
		return errors.New("no state folder is known for a file of keys: set WHERRY_STATE to a folder of yours")
	}
	keys, err := f.read()
	if err != nil {
		return err
	}
	content := fileFormat{Version: fileVersion, Keys: map[string]string{}}
	for p, k := range keys {
		content.Keys[p] = k
	}
	content.Keys[provider] = secret
	if secret == "" {
		delete(content.Keys, provider)
	}
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("write the file of keys: %w", err)
	}
	return atomicfile.Write(f.path(), append(data, '\n'), 0o600)
}
