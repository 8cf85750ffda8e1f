package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// StoreFault sorts what can be wrong with a store by what a person can do about it.
type StoreFault string

// The faults.
const (
	FaultFolder      StoreFault = "folder"       // its folder cannot be made or used
	FaultNotDatabase StoreFault = "not_database" // the file is something else
	FaultDamaged     StoreFault = "damaged"      // the file is broken
	FaultNewer       StoreFault = "newer"        // written by a newer wherry
	FaultReadOnly    StoreFault = "read_only"    // not writable
	FaultFull        StoreFault = "full"         // no space left; works again when there is
	FaultBusy        StoreFault = "busy"         // another program held it for too long; trying again can help
	FaultGone        StoreFault = "gone"         // removed or replaced while it was in use
	FaultOther       StoreFault = "other"        // anything else of the disk or the database
)

// StoreError says that a store cannot be used or could not do something. Nothing is changed when it is returned: what
// was stored before stays, and a broken file is left as it is.
type StoreError struct {
	Path string // of the file
	Kind StoreFault
	Err  error // the cause
}

// Error is a sentence that says what happened, where, and what to do.
func (e *StoreError) Error() string {
	switch e.Kind {
	case FaultFolder:
		return fmt.Sprintf("the folder of the session store %s cannot be used (%v): make it writable, or set WHERRY_STATE to another folder", e.Path, e.Err)
	case FaultNotDatabase:
		return fmt.Sprintf("%s is not a session store (%v): move it away, or set WHERRY_STATE to another folder", e.Path, e.Err)
	case FaultDamaged:
		return fmt.Sprintf("the session store %s is damaged (%v): it was left as it is; move it away to begin a new one, or put a copy of it back", e.Path, e.Err)
	case FaultNewer:
		return fmt.Sprintf("the session store %s was written by a newer wherry (%v): update wherry, or set WHERRY_STATE to another folder", e.Path, e.Err)
	case FaultReadOnly:
		return fmt.Sprintf("the session store %s cannot be written (%v): give yourself write permission on the file and its folder, or set WHERRY_STATE to another folder", e.Path, e.Err)
	case FaultFull:
		return fmt.Sprintf("the disk of the session store %s is full (%v): what was stored before is safe; free some space and try again", e.Path, e.Err)
	case FaultGone:
		return fmt.Sprintf("the session store %s was removed while wherry was using it (%v): nothing more can be stored in it. Put it back, or start wherry again, which begins a new one", e.Path, e.Err)
	case FaultBusy:
		return fmt.Sprintf("the session store %s was in use by another program for too long (%v): try again", e.Path, e.Err)
	}
	return fmt.Sprintf("the session store %s could not be used: %v", e.Path, e.Err)
}

// Unwrap gives the cause.
func (e *StoreError) Unwrap() error { return e.Err }

// Primary result codes of SQLite, https://www.sqlite.org/rescode.html.
const (
	sqlitePerm     = 3
	sqliteBusy     = 5
	sqliteReadOnly = 8
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteProtocol = 15
	sqliteNotADB   = 26
)

// primaryCode is SQLite's result code in err, without its detail; 0 when there is none.
func primaryCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// fault makes a StoreError of what the database said, and leaves every other error as it is.
func (f storeFile) fault(doing string, err error) error {
	var known *StoreError
	var held *HeldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.As(err, &held):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", doing, err)
	}
	kind := FaultOther
	switch primaryCode(err) {
	case 0:
		if !errors.Is(err, sql.ErrConnDone) && !errors.Is(err, sql.ErrTxDone) {
			return fmt.Errorf("%s: %w", doing, err)
		}
	case sqliteBusy, sqliteProtocol:
		kind = FaultBusy
	case sqlitePerm, sqliteReadOnly:
		kind = FaultReadOnly
	case sqliteCorrupt:
		kind = FaultDamaged
	case sqliteNotADB:
		kind = FaultNotDatabase
	case sqliteFull:
		kind = FaultFull
	case sqliteCantOpen:
		kind = FaultFolder
	}
	return &StoreError{Path: f.path, Kind: kind, Err: fmt.Errorf("%s: %w", doing, err)}
}
