package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The pinned schema: a version bump changes these two.
const (
	packageName    = "@agentclientprotocol/sdk"
	packageVersion = "2.4.0"
	packageDigest  = "7qJ8nnyj7WesC5ve185ioTpB2/svQoeGV4HA4nLEhgDUrcmBe54/08VcXc/oL4p14tDbxxECZzdYmUYQ+4l+Wg==" // SHA-512
)

// schemaFolder is where the schema files of version 1 of the protocol are after fetch.
func schemaFolder(cache string) string { return filepath.Join(cache, packageVersion, "v1") }

// fetch puts the schema into the cache folder, unless it is there.
func fetch(ctx context.Context, cache string) error {
	if _, err := os.Stat(schemaFolder(cache)); err == nil {
		return nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	archive, err := pack(ctx, tmp)
	if err != nil {
		return err
	}
	if sum := sha512.Sum512(archive); base64.StdEncoding.EncodeToString(sum[:]) != packageDigest {
		return fmt.Errorf("%s@%s: the package that npm delivered does not have the pinned digest; nothing was unpacked", packageName, packageVersion)
	}
	if err := unpack(archive, filepath.Join(tmp, "out")); err != nil {
		return fmt.Errorf("unpack %s@%s: %w", packageName, packageVersion, err)
	}
	err = os.Rename(filepath.Join(tmp, "out"), filepath.Join(cache, packageVersion))
	if _, e := os.Stat(schemaFolder(cache)); e == nil {
		return nil // ours, or another process was first
	}
	return err
}

// pack asks npm for the package, from the registry npm is set to use.
func pack(ctx context.Context, dir string) ([]byte, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("fetching the protocol's schema needs npm, which is not on the PATH; it comes with Node.js (https://nodejs.org)")
	}
	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", "--ignore-scripts", packageName+"@"+packageVersion)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("npm pack %s@%s: %w\n%s", packageName, packageVersion, err, strings.TrimSpace(stderr.String()))
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("npm pack %s@%s left %d archives, expected 1", packageName, packageVersion, len(found))
	}
	return os.ReadFile(found[0])
}

// unpack writes the archive's schema files, and only those.
func unpack(archive []byte, dir string) error {
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	for files := tar.NewReader(zip); ; {
		h, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(h.Name, "package/schema/")
		if !ok || h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || filepath.Ext(name) != ".json" {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(files, 16<<20))
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
}
