package session

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// storeFile says where a database is and how to open it.
type storeFile struct {
	path   string // for people, and of the file
	dsn    string // without parameters
	memory bool
}

func fileOnDisk(path string) storeFile {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // C:/x
		slashed = "/" + slashed
	}
	return storeFile{path: path, dsn: (&url.URL{Scheme: "file", Path: slashed}).String() + "?"}
}

func fileInMemory() storeFile {
	return storeFile{path: "(in memory)", dsn: "file:/" + rand.Text() + "?vfs=memdb&", memory: true}
}

// open opens the file, making it and bringing it up to date as needed.
func (f storeFile) open(ctx context.Context) (*database, error) {
	if !f.memory {
		if err := f.make(); err != nil {
			return nil, err
		}
	}
	// Every commit is synced (synchronous), and what is deleted is overwritten.
	writer, err := f.connect("_busy_timeout=5000&_synchronous=FULL&_foreign_keys=on&_pragma=secure_delete(on)")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	reader, err := f.connect("_busy_timeout=5000&_query_only=on")
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reader.SetMaxOpenConns(4)
	reader.SetMaxIdleConns(2)

	db := &database{writer: writer, reader: reader}
	if f.memory {
		if db.anchor, err = reader.Conn(ctx); err != nil {
			return nil, errors.Join(err, db.close())
		}
	}
	if err := f.migrate(ctx, writer); err != nil {
		if primaryCode(err) == sqliteCantOpen && !f.memory {
			err = f.whyNot(err)
		}
		return nil, errors.Join(err, db.close())
	}
	if !f.memory {
		if db.info, err = os.Stat(f.path); err != nil {
			return nil, errors.Join(err, db.close())
		}
	}
	return db, nil
}

// there tells whether the open file is still the one at its path. What is written into a file that has no name is lost.
func (f storeFile) there(db *database) error {
	if f.memory {
		return nil
	}
	info, err := os.Stat(f.path)
	if err == nil && !os.SameFile(info, db.info) {
		err = errors.New("another file has its place")
	}
	if err != nil {
		return &StoreError{Path: f.path, Kind: FaultGone, Err: err}
	}
	return nil
}

// whyNot finds out whether a file that cannot be opened is only not writable.
func (f storeFile) whyNot(err error) error {
	file, denied := os.OpenFile(f.path, os.O_WRONLY, 0)
	if denied != nil {
		return &StoreError{Path: f.path, Kind: FaultReadOnly, Err: denied}
	}
	return errors.Join(err, file.Close())
}

func (f storeFile) connect(params string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(f.dsn + params + "&_error_rc=1")
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return sql.OpenDB(connector), nil
}

// smallestDatabase is the size in bytes of SQLite's smallest page.
const smallestDatabase = 512

// make creates the folder and an empty file, for this user alone. A file that is there is not opened: closing it would
// drop the locks that this process may have on it.
func (f storeFile) make() error {
	folder := filepath.Dir(f.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return &StoreError{Path: f.path, Kind: FaultFolder, Err: err}
	}
	info, err := os.Stat(f.path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return &StoreError{Path: f.path, Kind: FaultNotDatabase, Err: errors.New("not a regular file")}
	case err == nil && info.Size() > 0 && info.Size() < smallestDatabase: // which SQLite would write over
		return &StoreError{Path: f.path, Kind: FaultNotDatabase, Err: errors.New("too short for one")}
	case err == nil:
		if info.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(f.path, 0o600) // best effort: some file systems have no modes
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return &StoreError{Path: f.path, Kind: FaultFolder, Err: err}
	}
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	if err != nil {
		return &StoreError{Path: f.path, Kind: FaultFolder, Err: err}
	}
	if err := errors.Join(file.Close(), syncFolder(folder)); err != nil {
		return &StoreError{Path: f.path, Kind: FaultFolder, Err: err}
	}
	return nil
}

// syncFolder puts a new name in the folder on the disk. Where folders cannot be synced it is no error.
func syncFolder(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	_ = dir.Sync() // not offered everywhere
	return dir.Close()
}
