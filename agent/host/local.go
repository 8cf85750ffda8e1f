package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// DefaultMaxText is the largest text file that is read and written when [LocalOptions] do not say otherwise, in bytes.
const DefaultMaxText = 10 << 20

// LocalOptions are the choices of a local host. The zero value is right for most.
type LocalOptions struct {
	// MaxText bounds the text files that are read and written, in bytes. 0 means [DefaultMaxText].
	MaxText int64
	// Without are capabilities that the host does not offer.
	Without []Capability
	// Shell is the shell that runs command lines, called as "shell -c line". Empty means the user's own shell ($SHELL)
	// where it speaks the POSIX language, else /bin/sh; on Windows, cmd.
	Shell string
	// Environ is the environment that commands start from, KEY=VALUE; nil means the process's own. Variables that
	// look like secrets are left out of it, see PassEnv.
	Environ []string
	// PassEnv names variables that commands get although their names look like secrets.
	PassEnv []string
}

// Local is the host that works on this machine. All files are opened below a root with [os.Root], so that a symlink that
// is swapped in between the check and the use cannot lead outside. It holds no open files; it is safe for concurrent use.
type Local struct {
	roots   []string
	opts    LocalOptions
	shell   string
	environ []string
	writing [64]sync.Mutex // writes to one file are one at a time, by hash of the path
}

var _ Host = (*Local)(nil)

// NewLocal gives a host for the roots, the first of which is the working folder. Each must be the absolute path of an
// existing folder; a root given twice counts once.
func NewLocal(roots []string, opts LocalOptions) (*Local, error) {
	if len(roots) == 0 {
		return nil, errors.New("no folder to work in was given: at least one is needed")
	}
	if opts.MaxText <= 0 {
		opts.MaxText = DefaultMaxText
	}
	if opts.Environ == nil {
		opts.Environ = os.Environ()
	}
	l := &Local{opts: opts}
	for _, root := range roots {
		resolved, err := resolveRoot(root)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(l.roots, resolved) {
			l.roots = append(l.roots, resolved)
		}
	}
	l.shell = opts.Shell
	if l.shell == "" {
		l.shell = userShell(opts.Environ)
	}
	l.environ = CleanEnviron(opts.Environ, opts.PassEnv)
	return l, nil
}

func resolveRoot(root string) (string, error) {
	if !filepath.IsAbs(root) {
		return "", fmt.Errorf("%q: a session folder must be an absolute path", root)
	}
	resolved, err := filepath.EvalSymlinks(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: this folder does not exist: %w", root, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%s: this folder may not be opened: %w", root, fs.ErrPermission)
	case err != nil:
		return "", fmt.Errorf("%s: this folder cannot be used: %w", root, err)
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", fmt.Errorf("%s: this folder cannot be used: %w", root, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s: is not a folder", root)
	}
	return filepath.Clean(resolved), nil
}

// Roots are the session's folders; see [Host].
func (l *Local) Roots() []string { return slices.Clone(l.roots) }

// Can tells whether c is offered: all are, but those that the options leave out.
func (l *Local) Can(c Capability) bool {
	switch c {
	case CanRead, CanWrite, CanRun:
		return !slices.Contains(l.opts.Without, c)
	}
	return false
}

func (l *Local) need(c Capability, path string) error {
	if l.Can(c) {
		return nil
	}
	return fmt.Errorf("%s: to %s is %w", path, c, ErrUnsupported)
}
