package session

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// schemaVersion is the number of the newest file in migrations.
	schemaVersion = 3
	// applicationID marks a SQLite file as a session store ("whry").
	applicationID = 0x77687279
)

// migrate brings the database to schemaVersion. Usually it is there, which costs one query; the migration library is
// asked only when there is something to do.
func (f storeFile) migrate(ctx context.Context, db *sql.DB) error {
	const attempts = 5 // as many processes as may open a new file at the same moment, more or less
	var failed error
	for range attempts {
		version, err := f.version(ctx, db)
		if err != nil {
			return err
		}
		if version == schemaVersion {
			return nil
		}
		// Another process may be doing the same: then one of us fails on what the other has made, and looks again.
		if failed = f.upgrade(ctx, db); failed != nil && ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("bring to schema %d: %w", schemaVersion, failed)
}

// version is the schema that the file has, 0 for a new one. It refuses files that are not ours, or newer.
func (f storeFile) version(ctx context.Context, db *sql.DB) (int, error) {
	var version, application, tables int
	err := db.QueryRowContext(ctx, "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%')").
		Scan(&version, &application, &tables)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the schema version: %w", err)
	case application != applicationID && (application != 0 || version != 0 || tables != 0):
		return 0, &StoreError{Path: f.path, Kind: FaultNotDatabase, Err: errors.New("it is a database of another program")}
	case version > schemaVersion:
		return 0, &StoreError{Path: f.path, Kind: FaultNewer, Err: fmt.Errorf("it has schema %d, this program knows %d", version, schemaVersion)}
	}
	return version, nil
}

func (f storeFile) upgrade(ctx context.Context, db *sql.DB) (err error) {
	// In write-ahead logging a power cut takes back steps that were not synced, and leaves a file that is whole. What is
	// first written into it afterwards is synced, with these steps.
	if _, err := db.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return fmt.Errorf("put off syncing: %w", err)
	}
	defer func() {
		if _, full := db.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = FULL"); full != nil && err == nil {
			err = fmt.Errorf("sync again: %w", full)
		}
	}()
	// The space of what is deleted can be given back. Only a new file takes this, and only before anything else.
	if _, err := db.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
		return fmt.Errorf("prepare for giving space back: %w", err)
	}
	if !f.memory {
		var mode string
		if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
			return fmt.Errorf("switch to write-ahead logging: %w", err)
		}
		if mode != "wal" {
			return fmt.Errorf("switch to write-ahead logging: not possible on this file system (mode %s)", mode)
		}
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}
