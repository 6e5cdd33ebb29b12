package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// home is a repository's own folder, as git is shown it.
//
// Whatever an agent wrote into the settings of a repository, git does not read it: its
// common folder (GIT_COMMON_DIR) is one of ours, with a config of ours, no hooks, and
// links to the refs of the repository. Of the repository's own settings only those are
// kept that say how files are to be compared, and only with the values that they can
// have.
type home struct {
	dir      string // the repository's own folder, what all its worktrees share
	shield   string // the folder that git is shown in its place; "" where links can't be made
	isOurs   bool   // nobody but us writes to it
	bare     bool
	worktree string // core.worktree, as submodules have it
	perTree  bool   // worktrees have settings of their own
	settings []setting
	origin   origin
}

// origin is where a repository comes from.
type origin struct {
	url     string // "" for none
	partial bool   // git fetches what was left out when it needs it
	filter  string // what is left out
}

const (
	maxConfig = 1 << 20 // bytes of a file of settings
	maxList   = 64 << 20
	maxGit    = 1 << 30 // bytes of any other file that git reads whole
	maxRef    = 4 << 10
	maxFiles  = 1_000_000
)

// kept are the settings of a repository that git is told, and the values that they may
// have. None of them names a file, a program or a server.
var kept = map[string][]string{
	"core.filemode": booleans, "core.symlinks": booleans, "core.ignorecase": booleans, "core.precomposeunicode": booleans,
	"core.trustctime": booleans, "core.sparsecheckout": booleans, "core.sparsecheckoutcone": booleans, "core.longpaths": booleans,
	"index.sparse": booleans, "core.autocrlf": append([]string{"input"}, booleans...), "core.eol": {"lf", "crlf", "native"}, "core.checkstat": {"default", "minimal"},
}

var booleans = []string{"true", "false", "yes", "no", "on", "off", "1", "0"}

func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// isWord reports whether a value has letters, digits and some marks alone.
func isWord(value string) bool {
	return strings.Trim(strings.ToLower(value), "abcdefghijklmnopqrstuvwxyz0123456789._-:=") == ""
}

// home looks at a repository's own folder once, and makes what git is shown of it.
func (t *tool) home(ctx context.Context, dir string) (*home, error) {
	if h := t.homes[dir]; h != nil {
		return h, nil
	}
	if err := check(dir, readOfCommon...); err != nil {
		return nil, err
	}
	list, err := t.config(ctx, filepath.Join(dir, "config"))
	if err != nil {
		return nil, err
	}
	machine, err := t.machineSettings(ctx)
	if err != nil {
		return nil, err
	}
	h := &home{dir: dir, settings: machine}
	text, err := h.read(list)
	if err != nil {
		return nil, err
	}
	return h, t.show(h, text)
}

// read takes what is kept of a repository's settings. It returns the text of ours.
func (h *home) read(list []setting) (string, error) {
	text := "[core]\n\tlogAllRefUpdates = true\n"
	for _, s := range list {
		name, isExtension := strings.CutPrefix(s.key, "extensions.")
		switch {
		case s.key == "core.repositoryformatversion" && slices.Contains([]string{"0", "1"}, s.value):
			text += "\trepositoryFormatVersion = " + s.value + "\n"
		case s.key == "core.bare":
			h.bare = isTrue(s.value)
		case s.key == "core.worktree":
			h.worktree = s.value
		case s.key == "extensions.objectformat" && !strings.EqualFold(s.value, "sha1"):
			return "", fmt.Errorf("%s: a repository with %s object ids can be worked in, but not saved or restored", h.dir, s.value)
		case s.key == "extensions.worktreeconfig":
			h.perTree = isTrue(s.value)
		case isExtension && name != "partialclone" && isWord(name) && isWord(s.value):
			text += "[extensions]\n\t" + name + " = " + s.value + "\n[core]\n"
		}
		h.origin.read(s)
	}
	h.settings = append(h.settings, keptOf(list)...)
	return text, nil
}

func (o *origin) read(s setting) {
	switch {
	case s.key == "remote.origin.url" && o.url == "":
		o.url = s.value
	case s.key == "remote.origin.promisor":
		o.partial = isTrue(s.value)
	case s.key == "remote.origin.partialclonefilter" && isWord(s.value):
		o.filter = s.value
	}
}

// IsComparisonSetting reports whether a setting says how files are compared, as core.autocrlf does, and has a value that names
// no file, program or server.
func IsComparisonSetting(key, value string) bool {
	return slices.Contains(kept[key], strings.ToLower(value))
}

func keptOf(list []setting) []setting {
	var keep []setting
	for _, s := range list {
		if IsComparisonSetting(s.key, s.value) {
			keep = append(keep, s)
		}
	}
	return keep
}

// show has git be shown a repository's own folder with these settings. A file that isn't there yet is linked to as
// well; a folder only when it is.
func (t *tool) show(h *home, text string) error {
	t.homes[h.dir] = h
	if runtime.GOOS == "windows" {
		return nil
	}
	own, err := os.MkdirTemp(t.temp, "home-") // one each time: what has changed since is shown anew
	if err != nil {
		return err
	}
	h.shield = filepath.Join(own, ".git")
	if err := os.Mkdir(h.shield, 0o700); err != nil {
		return err
	}
	if err := files.WriteNew(filepath.Join(h.shield, "config"), []byte(text), 0o600); err != nil {
		return err
	}
	for _, name := range []string{"HEAD", "packed-refs", "shallow", "refs", "reftable", "logs", "info", "worktrees", "modules"} {
		to := filepath.Join(h.dir, name)
		_, err := os.Stat(to)
		if err != nil && name != "packed-refs" && name != "shallow" {
			continue
		}
		if err := os.Symlink(to, filepath.Join(h.shield, name)); err != nil {
			return err
		}
	}
	return nil
}

// environ has git work on the repository.
func (h *home) environ(gitDir, top string) []string {
	if h.shield == "" {
		return nil
	}
	env := []string{"GIT_DIR=" + gitDir, "GIT_COMMON_DIR=" + h.shield, "GIT_OBJECT_DIRECTORY=" + filepath.Join(h.dir, "objects")}
	if top != "" {
		env = append(env, "GIT_WORK_TREE="+top)
	}
	return env
}

// config reads a file of settings as git would, but for what it includes. A file that
// doesn't exist has none.
func (t *tool) config(ctx context.Context, path string) ([]setting, error) {
	data, err := readSettings(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := call{dir: t.temp, alone: true, in: strings.NewReader(string(data))}
	out, err := t.output(ctx, c, "config", "--file", "-", "--no-includes", "--null", "--list")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var list []setting
	for entry := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		key, value, ok := strings.Cut(string(entry), "\n")
		if !ok {
			value = "true" // as git reads a name without a value
		}
		list = append(list, setting{key, value})
	}
	return list, nil
}

// readSettings reads a file, but not one that seems empty: to read /proc/kmsg, to which a link may lead, takes for ever.
func readSettings(path string) ([]byte, error) {
	path = resolved(path)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, nil
	}
	data, _, err := files.Read(path, maxConfig)
	return data, err
}

// machineSettings are those settings of the machine and the user that are kept as well:
// how line ends are converted, most of all. A file that can't be read has none.
func (t *tool) machineSettings(ctx context.Context) ([]setting, error) {
	if t.machine != nil {
		return t.machine, nil
	}
	t.machine = []setting{}
	if runtime.GOOS == "windows" { // where its file is only git knows
		out, err := t.output(ctx, call{dir: t.temp, alone: true}, "config", "--system", "--no-includes", "--get", "core.autocrlf")
		if err == nil {
			t.machine = keptOf([]setting{{"core.autocrlf", strings.TrimSpace(string(out))}})
		}
	}
	for _, path := range t.settingsFiles {
		list, err := t.config(ctx, path)
		if ctx.Err() != nil {
			return nil, err
		}
		t.machine = append(t.machine, keptOf(list)...)
	}
	return t.machine, nil
}
