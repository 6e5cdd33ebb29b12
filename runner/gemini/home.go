package gemini

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// home is the folder that the CLI uses as its user's home:
//
//	~/.gemini/raymond/.gemini/    read-only in a cage
//	    settings.json             the user's settings, overridden by requiredSettings
//	    oauth_creds.json, ...     links to other files in the user's folder
//	    policies/                 tool rules, each file named after a hash of its content
//	    projects.json             link to tmp/projects.json
//	    history/, tmp/            written by the CLI
//	    tmp/projects.json         maps directories to the names of their folders
//	    tmp/w.../chats/           conversations of a directory
//
// A CLI that only prints its version uses another home, ~/.gemini/raymond/version: on exit it
// cleans up and may overwrite projects.json.
type home struct {
	user string // home folder of the user, which contains .gemini
}

// homeVar is the variable for the folder that the CLI uses as the home folder.
const homeVar = "GEMINI_CLI_HOME"

// userHome returns the user's home folder for the given environment, or "" if it is unknown.
func userHome(env []string) string {
	if dir := program.Variable(env, homeVar); filepath.IsAbs(dir) {
		return dir
	}
	return program.Home(env)
}

// configFolder is the name of the configuration folder in a home folder.
const configFolder = ".gemini"

// userPath returns the path of a file or folder in the user's configuration folder.
func (h home) userPath(names ...string) string {
	return filepath.Join(append([]string{h.user, configFolder}, names...)...)
}

// cliHome returns the folder that the CLI uses as the home folder.
func (h home) cliHome() string { return h.userPath("raymond") }

// cliPath returns the path of a file or folder in the CLI's configuration folder.
func (h home) cliPath(names ...string) string {
	return filepath.Join(append([]string{h.cliHome(), configFolder}, names...)...)
}

// dirName returns the name of the folder for conversations that are held in dir.
func dirName(dir string) string {
	if runtime.GOOS == "windows" {
		dir = strings.ToLower(dir) // the CLI does the same
	}
	sum := sha256.Sum256([]byte(dir))
	return "w" + hex.EncodeToString(sum[:12])
}

// sharedFiles are the names of files and folders in the user's configuration folder that the CLI
// needs in addition to the settings, such as logins and extensions.
var sharedFiles = []string{
	"oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "mcp-oauth-tokens.json", "mcp-oauth-tokens-v2.json",
	".env", "GEMINI.md", "commands", "extensions", "skills", "agents",
}

// prepare creates or updates the folders and files in the home for a CLI that works in dir. It
// returns a note if the user's settings could not be read.
func (h home) prepare(dir string) (note string, err error) {
	if err := errors.Join(os.MkdirAll(h.cliPath("tmp"), 0o700), os.MkdirAll(h.cliPath("history"), 0o700), os.MkdirAll(h.cliPath("policies"), 0o700)); err != nil {
		return "", err
	}
	lock := flock.New(h.cliPath("raymond.lock"))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer lock.Close()
	user, err := h.userSettings()
	if err != nil {
		note = "the settings of Gemini CLI could not be read and are ignored: " + err.Error()
	}
	settings, err := json.MarshalIndent(mergeSettings(user, h.requiredSettings()), "", "  ")
	if err == nil {
		err = writeIfChanged(h.cliPath("settings.json"), settings)
	}
	if err != nil {
		return "", err
	}
	for _, name := range sharedFiles {
		if exists(h.userPath(name)) {
			_ = os.Symlink(h.userPath(name), h.cliPath(name)) // fails on Windows if the user must not create links
		}
	}
	return note, h.registerDir(transcripts.ResolveLinks(dir))
}

// projects is the content of projects.json. It maps directories to the names of their folders.
type projects struct {
	Projects map[string]string `json:"projects"`
}

// registerDir assigns a folder name to a directory. It adds the directory to projects.json, and removes
// directories that no longer exist from it. Otherwise, the CLI would choose a name that this
// package doesn't know. In a cage, the CLI could not even write all the files in which it records the
// name.
func (h home) registerDir(dir string) error {
	if runtime.GOOS == "windows" {
		dir = strings.ToLower(dir)
	}
	name := dirName(dir)
	for _, place := range []string{"tmp", "history"} {
		dirRoot, err := transcripts.OpenOrCreateDir(h.cliPath(), place, name)
		if err != nil {
			return err
		}
		err = transcripts.Install(dirRoot, ".project_root", strings.NewReader(dir))
		if err = errors.Join(err, dirRoot.Close()); err != nil {
			return err
		}
	}
	tmp, err := transcripts.OpenDir(h.cliPath(), "tmp")
	if err != nil {
		return err
	}
	defer tmp.Close()
	// The CLI waits silently, in ever longer intervals, until it gets the lock of projects.json. It
	// never gets a lock that isn't a folder or whose time is in the future. A killed CLI may have
	// left a lock, and an agent may have created one.
	const lock = projectsFile + ".lock"
	if info, err := tmp.Lstat(lock); err == nil && (!info.IsDir() || time.Since(info.ModTime()).Abs() > staleLockAge) {
		if err := tmp.RemoveAll(lock); err != nil {
			return err
		}
	}
	link, target := h.cliPath(projectsFile), filepath.Join("tmp", projectsFile)
	if now, err := os.Readlink(link); err != nil || now != target {
		_ = os.RemoveAll(link)
		_ = os.Symlink(target, link)
	}
	var p projects
	if data, _, err := files.Read(filepath.Join(tmp.Name(), projectsFile), maxSettings); err == nil {
		_ = json.Unmarshal(data, &p) // if the content can't be decoded, it is replaced
	}
	if p.Projects[dir] == name {
		return nil
	}
	now := projects{map[string]string{dir: name}}
	for other, folder := range p.Projects {
		if info, err := os.Stat(other); err == nil && info.IsDir() && folder == dirName(other) {
			now.Projects[other] = folder
		}
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return transcripts.Install(tmp, projectsFile, bytes.NewReader(data))
}

// projectsFile is the name of the file that maps directories to the names of their folders.
const projectsFile = "projects.json"

// staleLockAge is the age from which a lock counts as abandoned. The CLI renews a lock that it
// uses.
const staleLockAge = 10 * time.Second

// writeRules writes tool rules into a file in the home, and returns the path of the file.
func (h home) writeRules(toml string) (string, error) {
	sum := sha256.Sum256([]byte(toml))
	path := h.cliPath("policies", hex.EncodeToString(sum[:12])+".toml")
	return path, writeIfChanged(path, []byte(toml))
}

// writeIfChanged replaces the content of a file atomically. It does not touch a file that already
// has this content.
func writeIfChanged(path string, content []byte) error {
	if now, _, err := files.Read(path, maxSettings); err == nil && bytes.Equal(now, content) {
		return nil
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return transcripts.Install(root, filepath.Base(path), bytes.NewReader(content))
}

// exists reports whether a path exists.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
