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

// home is the folder that the CLI takes for its user's home:
//
//	~/.gemini/raymond/.gemini/    not writable in a cage
//	    settings.json             the user's, with what must hold for a run
//	    oauth_creds.json, ...     links to what the user has beside their settings
//	    policies/                 rules for tools, each file named after what is in it
//	    projects.json             a link to tmp/projects.json
//	    history/, tmp/            written by the CLI
//	    tmp/projects.json         which directory has which folder
//	    tmp/w.../chats/           the conversations of a directory
//
// A CLI that only tells its version has another home, ~/.gemini/raymond/version: until it exits
// it clears up, and may put a file of its own in place of the list of directories.
type home struct {
	user string // the user's own home folder
}

// homeVar is the variable that tells the CLI its user's home.
const homeVar = "GEMINI_CLI_HOME"

// userHome returns the user's home folder for an environment; "" when nobody knows it.
func userHome(env []string) string {
	if dir := program.Variable(env, homeVar); filepath.IsAbs(dir) {
		return dir
	}
	return program.Home(env)
}

// folder is the CLI's own one in its user's home.
const folder = ".gemini"

func (h home) theirs(names ...string) string {
	return filepath.Join(append([]string{h.user, folder}, names...)...)
}

// path is what the CLI is told that its home is.
func (h home) path() string { return h.theirs("raymond") }

// ours is a path in the CLI's own folder in there.
func (h home) ours(names ...string) string {
	return filepath.Join(append([]string{h.path(), folder}, names...)...)
}

// slug is the name of the folder of a directory's conversations.
func slug(dir string) string {
	if runtime.GOOS == "windows" {
		dir = strings.ToLower(dir) // as the CLI does
	}
	sum := sha256.Sum256([]byte(dir))
	return "w" + hex.EncodeToString(sum[:12])
}

// shared are what the CLI uses of the user's own folder, besides the settings: how they have
// logged in, and what they gave it.
var shared = []string{
	"oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "mcp-oauth-tokens.json", "mcp-oauth-tokens-v2.json",
	".env", "GEMINI.md", "commands", "extensions", "skills", "agents",
}

// prepare makes the home ready for a CLI that works in a directory, and returns a note when the
// user's settings could not be read.
func (h home) prepare(dir string) (note string, err error) {
	if err := errors.Join(os.MkdirAll(h.ours("tmp"), 0o700), os.MkdirAll(h.ours("history"), 0o700), os.MkdirAll(h.ours("policies"), 0o700)); err != nil {
		return "", err
	}
	lock := flock.New(h.ours("raymond.lock"))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer lock.Close()
	settings, note := h.settings()
	if err := update(h.ours("settings.json"), settings); err != nil {
		return "", err
	}
	h.link()
	return note, h.register(transcripts.ResolveLinks(dir))
}

// link puts links into the home for what is shared. What can't be linked is not there for the
// CLI, as on Windows without the right to make links.
func (h home) link() {
	for _, name := range shared {
		if exists(h.theirs(name)) {
			_ = os.Symlink(h.theirs(name), h.ours(name))
		}
	}
}

// projects is what the CLI knows of the folders of directories.
type projects struct {
	Projects map[string]string `json:"projects"`
}

// register gives a directory its folder. The CLI would find a name itself, but it can't write
// where it keeps them when it runs in a cage, and nobody could tell which name it took.
func (h home) register(dir string) error {
	if runtime.GOOS == "windows" {
		dir = strings.ToLower(dir)
	}
	name := slug(dir)
	for _, place := range []string{"tmp", "history"} {
		own, err := transcripts.OpenOrCreateDir(h.ours(), place, name)
		if err != nil {
			return err
		}
		err = transcripts.Install(own, ".project_root", strings.NewReader(dir))
		if err = errors.Join(err, own.Close()); err != nil {
			return err
		}
	}
	return h.list(dir, name)
}

// list puts a directory into the list of all.
func (h home) list(dir, name string) error {
	tmp, err := transcripts.OpenDir(h.ours(), "tmp")
	if err != nil {
		return err
	}
	defer tmp.Close()
	// The CLI would wait, in ever longer intervals and without a word, for a lock that it can never take: one that is no folder,
	// or that comes from the future. One that was killed may have left one behind; agents can make any.
	const lock = listName + ".lock"
	if info, err := tmp.Lstat(lock); err == nil && (!info.IsDir() || time.Since(info.ModTime()).Abs() > lockStale) {
		if err := tmp.RemoveAll(lock); err != nil {
			return err
		}
	}
	link, target := h.ours(listName), filepath.Join("tmp", listName)
	if now, err := os.Readlink(link); err != nil || now != target {
		_ = os.RemoveAll(link)
		_ = os.Symlink(target, link)
	}
	var p projects
	if data, _, err := files.Read(filepath.Join(tmp.Name(), listName), maxSettings); err == nil {
		_ = json.Unmarshal(data, &p) // what can't be read is written anew
	}
	if p.Projects[dir] == name {
		return nil
	}
	now := projects{map[string]string{dir: name}}
	for other, its := range p.Projects {
		if info, err := os.Stat(other); err == nil && info.IsDir() && its == slug(other) {
			now.Projects[other] = its
		}
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return transcripts.Install(tmp, listName, bytes.NewReader(data))
}

// listName is the file in which the CLI keeps its list of directories.
const listName = "projects.json"

// lockStale is the age at which a lock counts as left behind for the CLI, which renews its own.
const lockStale = 10 * time.Second

// rules puts rules for tools into the home, and returns the path of their file.
func (h home) rules(toml string) (string, error) {
	sum := sha256.Sum256([]byte(toml))
	path := h.ours("policies", hex.EncodeToString(sum[:12])+".toml")
	return path, update(path, []byte(toml))
}

// update makes a file have a content, all at once. One that has it already stays.
func update(path string, content []byte) error {
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

// exists reports whether there is something at a path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
