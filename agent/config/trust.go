package config

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/agent/atomicfile"
)

// How much a project's folder .wherry may hold.
const (
	maxProjectFiles = 1000
	maxProjectBytes = 16 << 20
)

// Trust is the list of projects that the person trusts. It lies in the person's state folder, never in a project. A project is
// trusted with the very content that its folder .wherry had at that time: with any change there it is not trusted any more.
//
// What the project's settings refer to outside of that folder (a script that an MCP server is started with) is not
// covered.
//
// Methods read the list anew each time and are safe for concurrent use.
type Trust struct {
	// State is the person's state folder; "" trusts no project.
	State string
}

// trustFile is the format of the list.
type trustFile struct {
	Version  int               `json:"version"`
	Projects map[string]string `json:"projects"` // folder to digest
}

func (t Trust) path() string { return filepath.Join(t.State, "trust.json") }

// Review is what a person looks at before they trust a project.
type Review struct {
	Folder string   // with links resolved
	Files  []string // everything in .wherry, slash-separated, relative to the folder
	Config []byte   // content of .wherry/config.toml; nil if there is none
	Digest string   // of all of it
}

// ReviewProject reads what there is to trust. The error is [fs.ErrNotExist] when the folder has neither a
// .wherry/config.toml nor a folder .wherry/commands.
func ReviewProject(folder string) (Review, error) {
	p, err := readProject(folder)
	if err != nil {
		return Review{}, fmt.Errorf("read the settings of %s: %w", folder, err)
	}
	canonical, err := canonicalFolder(folder)
	if err != nil {
		return Review{}, err
	}
	return Review{Folder: canonical, Files: p.files, Config: p.config, Digest: p.digest}, nil
}

// Trust trusts the project as it was reviewed. What has changed since then is not trusted.
func (t Trust) Trust(r Review) error {
	if r.Folder == "" || r.Digest == "" {
		return errors.New("trust a project: nothing was reviewed")
	}
	return t.change(func(projects map[string]string) { projects[r.Folder] = r.Digest })
}

// Distrust forgets a project. Forgetting one that is not trusted is no error.
func (t Trust) Distrust(folder string) error {
	canonical, err := canonicalFolder(folder)
	if err != nil { // the folder may be gone
		canonical = filepath.Clean(folder)
	}
	return t.change(func(projects map[string]string) { delete(projects, canonical) })
}

// Trusted tells whether the project is trusted as it is now. A project without settings is not.
func (t Trust) Trusted(folder string) (bool, error) {
	p, err := readProject(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the settings of %s: %w", folder, err)
	}
	return t.knows(folder, p.digest)
}

// Files gives those of the project's files in .wherry whose names end with suffix, by their paths relative to the project's
// folder, and tells whether the project is trusted as it is: with these very bytes. A project without settings has none.
func (t Trust) Files(folder, suffix string) (files map[string][]byte, trusted bool, err error) {
	p, err := readProject(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the settings of %s: %w", folder, err)
	}
	files = map[string][]byte{}
	for name, data := range p.content {
		if strings.HasSuffix(name, suffix) {
			files[name] = data
		}
	}
	trusted, err = t.knows(folder, p.digest)
	return files, trusted, err
}

// Folders are those that were trusted, whatever their content is now.
func (t Trust) Folders() ([]string, error) {
	f, err := t.read()
	return slices.Sorted(maps.Keys(f.Projects)), err
}

func (t Trust) knows(folder, digest string) (bool, error) {
	f, err := t.read()
	if err != nil || len(f.Projects) == 0 {
		return false, err
	}
	canonical, err := canonicalFolder(folder)
	if err != nil {
		return false, err
	}
	return digest != "" && f.Projects[canonical] == digest, nil
}

func (t Trust) read() (trustFile, error) {
	none := trustFile{Version: 1, Projects: map[string]string{}}
	if t.State == "" {
		return none, nil
	}
	data, err := readFile(t.path())
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("read the list of trusted projects: %w", err)
	}
	f := trustFile{}
	if err := json.Unmarshal(data, &f); err != nil {
		return none, fmt.Errorf("the list of trusted projects %s is damaged (%w): move it away, then trust the projects again", t.path(), err)
	}
	if f.Version != 1 {
		return none, fmt.Errorf("the list of trusted projects %s has the version %d, which this program does not know", t.path(), f.Version)
	}
	if f.Projects == nil {
		f.Projects = map[string]string{}
	}
	return f, nil
}

// change rewrites the list; one that cannot be read is left as it is.
func (t Trust) change(do func(projects map[string]string)) error {
	if t.State == "" {
		return errors.New("no state folder is known: set WHERRY_STATE to a folder of yours")
	}
	f, err := t.read()
	if err != nil {
		return err
	}
	do(f.Projects)
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("write the list of trusted projects: %w", err)
	}
	return atomicfile.Write(t.path(), append(data, '\n'), 0o600)
}

// canonicalFolder gives a folder one name, whichever way it was reached.
func canonicalFolder(folder string) (string, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("find the folder %s: %w", folder, err)
	}
	canonical, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("find the folder %s: %w", folder, err)
	}
	return canonical, nil
}

// projectSettings is what a project says, read once: the digest is of the very bytes that are used.
type projectSettings struct {
	config  []byte
	files   []string
	content map[string][]byte
	digest  string
}

// readProject reads the folder .wherry. Links in it are refused: what they lead to can change without the digest.
func readProject(folder string) (projectSettings, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return projectSettings{}, err
	}
	defer root.Close()
	if _, err := root.Lstat(path.Join(projectFolder, fileName)); err != nil {
		if _, err := root.Lstat(path.Join(projectFolder, CommandsFolder)); err != nil {
			return projectSettings{}, err
		}
	}
	if info, err := root.Lstat(projectFolder); err != nil || !info.IsDir() {
		return projectSettings{}, errors.Join(err, fmt.Errorf("%s is not a folder of its own", projectFolder))
	}
	r := projectReader{root: root.FS(), sum: sha256.New()}
	r.out.content = map[string][]byte{}
	if err := fs.WalkDir(r.root, projectFolder, r.visit); err != nil { // in lexical order
		return projectSettings{}, err
	}
	r.out.digest = "sha256:" + hex.EncodeToString(r.sum.Sum(nil))
	return r.out, nil
}

type projectReader struct {
	root  fs.FS
	sum   hash.Hash
	bytes int
	out   projectSettings
}

func (r *projectReader) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case entry.IsDir():
		return nil
	case !entry.Type().IsRegular():
		return fmt.Errorf("%s is a link or another special file, which a project's settings may not hold", name)
	case len(r.out.files) == maxProjectFiles:
		return fmt.Errorf("%s holds more than %d files", projectFolder, maxProjectFiles)
	}
	f, err := r.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := readAll(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.bytes += len(data); r.bytes > maxProjectBytes {
		return fmt.Errorf("%s holds more than %d MB", projectFolder, maxProjectBytes>>20)
	}
	for _, part := range [][]byte{[]byte(name), data} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		r.sum.Write(size[:])
		r.sum.Write(part)
	}
	r.out.files = append(r.out.files, name)
	r.out.content[name] = data
	if name == path.Join(projectFolder, fileName) {
		r.out.config = data
	}
	return nil
}
