package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Write replaces or creates a file when it still is the version base. See [Host].
//
// The new content is written beside the file, synced and then put in its place in one step, so that a reader or a crash
// sees the old file or the new one. Mode, owner and extended attributes are kept. A file with several hard links, or whose
// owner or attributes cannot be carried over, is written in place instead, and put back if that fails. Missing parent
// folders are made.
//
// Between the comparison and the replacement the file is locked (flock), so that hosts of several processes cannot undo
// each other's writes. A program that does not lock is found out where the system can exchange two files in one step
// (Linux): it gets its file back. Elsewhere a short moment remains that no program can close.
func (l *Local) Write(ctx context.Context, path string, text Text, base Version) (Version, error) {
	if err := l.need(CanWrite, path); err != nil {
		return Version{}, err
	}
	if err := ctx.Err(); err != nil {
		return Version{}, fmt.Errorf("%s: write: %w", path, context.Cause(ctx))
	}
	p, err := l.Resolve(path)
	if err != nil {
		return Version{}, err
	}
	if p.Rel == "." {
		return Version{}, fmt.Errorf("%s: is a folder, not a file", path)
	}
	if base != Absent && (base.Source != FromDisk || base.Digest == "") {
		return Version{}, changed(path, "the text it was made from was not read from the disk")
	}
	data, err := text.Encode()
	if err != nil {
		return Version{}, fmt.Errorf("%s: %w", path, err)
	}
	if int64(len(data)) > l.opts.MaxText {
		return Version{}, fmt.Errorf("%s: the new content is too large: %d bytes, the limit is %d", path, len(data), l.opts.MaxText)
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return Version{}, sentence(path, "open its folder", err)
	}
	defer root.Close()

	lock := l.writeLock(p.Abs)
	lock.Lock()
	defer lock.Unlock()
	w := &writer{root: root, place: p, path: path, name: filepath.FromSlash(p.Rel), data: data, base: base, limit: l.opts.MaxText}
	if base == Absent {
		err = w.create()
	} else {
		err = w.replace(ctx)
	}
	if err != nil {
		return Version{}, err
	}
	return Version{Source: FromDisk, Digest: Digest(data)}, nil
}

// Remove deletes a regular file when it still is the version base; otherwise nothing is deleted and the error is
// [ErrChanged].
func (l *Local) Remove(ctx context.Context, path string, base Version) error {
	if err := l.need(CanWrite, path); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: remove: %w", path, context.Cause(ctx))
	}
	p, err := l.Resolve(path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return sentence(path, "open its folder", err)
	}
	defer root.Close()
	lock := l.writeLock(p.Abs)
	lock.Lock()
	defer lock.Unlock()
	w := &writer{root: root, place: p, path: path, name: filepath.FromSlash(p.Rel), base: base, limit: l.opts.MaxText}
	file, info, err := openRegular(root, p, path)
	if err != nil {
		return err
	}
	lockFile(ctx, file)
	if runtime.GOOS == "windows" { // an open file is not removed there
		_ = file.Close()
	}
	defer file.Close()
	if _, now, err := w.current(); err != nil {
		return err
	} else if !os.SameFile(info, now) {
		return changed(path, "it was replaced")
	}
	if err := root.Remove(w.name); err != nil {
		return sentence(path, "remove", err)
	}
	return nil
}

func changed(path, why string) error { return fmt.Errorf("%s: %w: %s", path, ErrChanged, why) }

func (l *Local) writeLock(abs string) interface {
	Lock()
	Unlock()
} {
	h := fnv.New32a()
	_, _ = io.WriteString(h, abs)
	return &l.writing[h.Sum32()%uint32(len(l.writing))]
}

// writer is one write.
type writer struct {
	root  *os.Root
	place Path
	path  string // as given, for sentences
	name  string // below root
	data  []byte
	base  Version
	limit int64
}

// create puts a new file in place, unless there is one by now.
func (w *writer) create() error {
	if dir := filepath.Dir(w.name); dir != "." {
		if err := w.root.MkdirAll(dir, 0o777); err != nil {
			return sentence(w.path, "make its folder", err)
		}
	}
	switch info, err := w.root.Lstat(w.name); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s: is a folder, not a file", w.path)
	case err == nil:
		return changed(w.path, "it exists by now")
	case !errors.Is(err, fs.ErrNotExist):
		return sentence(w.path, "write", err)
	}
	temp, err := w.writeTemp(0o666, nil)
	if err != nil {
		return err
	}
	defer w.root.Remove(temp) // the second name, or all of it after an error
	err = w.root.Link(temp, w.name)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without hard links
		if _, statErr := w.root.Lstat(w.name); errors.Is(statErr, fs.ErrNotExist) {
			err = w.root.Rename(temp, w.name)
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return changed(w.path, "it exists by now")
	case err != nil:
		return sentence(w.path, "write", err)
	}
	w.syncDir()
	return nil
}

// replace puts the new content in the place of the base version.
func (w *writer) replace(ctx context.Context) error {
	file, err := w.openLocked(ctx)
	if err != nil {
		return err
	}
	defer file.Close() // ends the lock, too
	old, info, err := w.current()
	if err != nil {
		return err
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(opened, info) {
		return changed(w.path, "it was replaced while it was opened")
	}
	if linkCount(info) > 1 {
		return w.inPlace(file, info, old)
	}
	temp, err := w.writeTemp(0o600, func(temp *os.File) error { return copyAttributes(temp, file, info) })
	if errors.Is(err, errCannotCopy) {
		return w.inPlace(file, info, old)
	}
	if err != nil {
		return err
	}
	defer w.root.Remove(temp)
	if runtime.GOOS == "windows" { // an open file is not replaced there
		_ = file.Close()
	}
	if err := w.swap(temp, info); err != nil {
		return err
	}
	w.syncDir()
	return nil
}

// openLocked opens the file that is there to write it, for the file itself must be writable and not only its folder, and
// locks it.
func (w *writer) openLocked(ctx context.Context) (*os.File, error) {
	switch info, err := w.root.Lstat(w.name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, changed(w.path, "it is gone")
	case err != nil:
		return nil, sentence(w.path, "write", err)
	case !info.Mode().IsRegular():
		return nil, mustBeRegular(w.path, info.Mode())
	case info.Mode().Perm()&0o222 == 0:
		return nil, &pathError{w.path, "is read-only", fs.ErrPermission}
	}
	file, err := w.root.OpenFile(w.name, os.O_RDWR|openNonblock, 0)
	if err != nil {
		return nil, sentence(w.path, "write", err)
	}
	lockFile(ctx, file)
	if ctx.Err() != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s: write: %w", w.path, context.Cause(ctx))
	}
	return file, nil
}

// current reads what is there now and checks that it is the base.
func (w *writer) current() ([]byte, fs.FileInfo, error) {
	file, info, err := openRegular(w.root, w.place, w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, changed(w.path, "it is gone")
	}
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	old, err := readLimited(file, info.Size(), w.limit, w.path)
	if errors.Is(err, ErrTooLarge) {
		return nil, nil, changed(w.path, "it has grown over the limit")
	}
	if err != nil {
		return nil, nil, err
	}
	if Digest(old) != w.base.Digest {
		return nil, nil, changed(w.path, "it has other content by now")
	}
	return old, info, nil
}

// errCannotCopy says that what the old file has beside its content cannot be given to a new one.
var errCannotCopy = errors.New("attributes cannot be carried over")

// writeTemp writes the new content to a new file beside the target and syncs it. On an error nothing is left behind.
func (w *writer) writeTemp(mode fs.FileMode, prepare func(*os.File) error) (_ string, err error) {
	name := filepath.Join(filepath.Dir(w.name), ".wherry-"+rand.Text()[:12]+".tmp")
	file, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", sentence(w.path, "write to its folder", err)
	}
	defer func() {
		if closeErr := file.Close(); err == nil && closeErr != nil {
			err = w.unchanged(closeErr)
		}
		if err != nil {
			_ = w.root.Remove(name)
		}
	}()
	if _, err := file.Write(w.data); err != nil {
		return "", w.unchanged(err)
	}
	if prepare != nil {
		if err := prepare(file); err != nil {
			return "", err
		}
	}
	if err := file.Sync(); err != nil {
		return "", w.unchanged(err)
	}
	return name, nil
}

func (w *writer) unchanged(err error) error {
	err = sentence(w.path, "write", err)
	if w.base == Absent {
		return fmt.Errorf("%w: the file was not created", err)
	}
	return fmt.Errorf("%w: the file is unchanged", err)
}

// swap puts temp in the place of the base version, whose description is info.
func (w *writer) swap(temp string, info fs.FileInfo) error {
	done, err := w.exchange(temp)
	if err != nil {
		return sentence(w.path, "write", err)
	}
	if done {
		return w.checkExchanged(temp)
	}
	now, err := w.root.Lstat(w.name)
	if err != nil || !os.SameFile(now, info) || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		return changed(w.path, "it was changed while it was written")
	}
	if err := w.root.Rename(temp, w.name); err != nil {
		return w.unchanged(err)
	}
	return nil
}

// checkExchanged makes sure that what was in the file's place until now, and is under the name temp, is the base version.
// If it is not, somebody wrote in the last moment, and gets their file back.
func (w *writer) checkExchanged(temp string) error {
	before := *w
	before.name, before.place = temp, child(Path{Abs: filepath.Dir(w.place.Abs), Root: w.place.Root, Rel: filepath.ToSlash(filepath.Dir(w.name))}, filepath.Base(temp))
	if _, _, err := before.current(); err == nil {
		return nil
	}
	for range 3 {
		if _, err := w.exchange(temp); err != nil {
			return fmt.Errorf("%s: was changed while it was written, and the other version could not be put back: it is in %s: %w",
				w.path, temp, err)
		}
		before.base.Digest = Digest(w.data)
		if _, _, err := before.current(); err == nil { // ours came out, so theirs is in
			break
		}
	}
	return changed(w.path, "it was changed while it was written")
}

// inPlace writes the content into the file that is there, so that all of its links see it. The content is written beside
// it first: that finds out whether there is room. If it still fails, the old content is put back.
func (w *writer) inPlace(file *os.File, info fs.FileInfo, old []byte) error {
	opened, err := file.Stat()
	if err != nil || !os.SameFile(opened, info) {
		return changed(w.path, "it was replaced while it was written")
	}
	temp, err := w.writeTemp(0o600, nil)
	if err != nil {
		return err
	}
	defer w.root.Remove(temp)
	if now, err := readLimited(io.NewSectionReader(file, 0, w.limit+1), opened.Size(), w.limit, w.path); err != nil || Digest(now) != w.base.Digest {
		return changed(w.path, "it was changed while it was written")
	}
	if err := overwrite(file, w.data); err != nil {
		if undo := overwrite(file, old); undo != nil {
			return fmt.Errorf("%s: write: %w; putting the old content back did not work either: %w", w.path, err, undo)
		}
		return w.unchanged(err)
	}
	return nil
}

func overwrite(file *os.File, data []byte) error {
	if _, err := file.WriteAt(data, 0); err != nil {
		return err
	}
	if err := file.Truncate(int64(len(data))); err != nil {
		return err
	}
	return file.Sync()
}

// syncDir makes the new name durable. Not every file system can, and the content is already safe: errors do not matter.
func (w *writer) syncDir() {
	if dir, err := w.root.Open(filepath.Dir(w.name)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}
