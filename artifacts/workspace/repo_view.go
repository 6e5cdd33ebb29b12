package workspace

import (
	"bytes"
	"cmp"
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

// repoView describes a repository as git sees it.
//
// Git reads no settings that an agent may have written to the repository. Instead of the repository's
// common directory (GIT_COMMON_DIR), git sees a view: a directory with its own config, no hooks, and links
// to the refs of the repository. Of the repository's settings, git gets only the format, the extensions, and the
// settings that control how files are compared. The values of the latter must be in a fixed list.
type repoView struct {
	dir      string // common directory of the repository
	shield   string // directory that git sees instead of dir; empty where links can't be created
	isOurs   bool   // only this program writes to the repository
	bare     bool
	worktree string // value of core.worktree, which git sets in submodules
	perTree  bool   // worktrees have their own settings
	settings []setting

	origin    string // URL of the remote that the repository was cloned from; empty if it has none
	isPartial bool   // git fetches missing objects on demand
	filter    string // filter of a partial clone
}

const (
	maxConfig = 1 << 20 // maximum size of a settings file in bytes
	maxList   = 64 << 20
	maxGit    = 1 << 30 // maximum size of any other file that git reads completely, in bytes
	maxRef    = 4 << 10
	maxFiles  = 1_000_000
)

// keptSettings are the settings that control how git compares files, with the values that git may see. None of
// these values can name a file, a program or a server.
var keptSettings = map[string][]string{
	"core.filemode": booleans, "core.symlinks": booleans, "core.ignorecase": booleans, "core.precomposeunicode": booleans,
	"core.trustctime": booleans, "core.sparsecheckout": booleans, "core.sparsecheckoutcone": booleans, "core.longpaths": booleans,
	"index.sparse": booleans, "core.autocrlf": append([]string{"input"}, booleans...), "core.eol": {"lf", "crlf", "native"}, "core.checkstat": {"default", "minimal"},
}

var booleans = []string{"true", "false", "yes", "no", "on", "off", "1", "0"}

// isTrue reports whether git reads a value as true.
func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// isWord reports whether a value consists of letters, digits and some punctuation.
func isWord(value string) bool {
	return strings.Trim(strings.ToLower(value), "abcdefghijklmnopqrstuvwxyz0123456789._-:=") == ""
}

// view returns the view of a repository. The first call for a repository creates its view.
func (t *tool) view(ctx context.Context, dir string) (*repoView, error) {
	if h := t.views[dir]; h != nil {
		return h, nil
	}
	if err := checkFiles(dir, filesOfCommon...); err != nil {
		return nil, err
	}
	list, err := t.config(ctx, filepath.Join(dir, "config"))
	if err != nil {
		return nil, err
	}
	if t.machine == nil {
		// The most important settings of the machine and the user control line ends. Unreadable files are ignored.
		t.machine = []setting{}
		if runtime.GOOS == "windows" { // only git knows the path of the system's file
			out, err := t.output(ctx, call{dir: t.temp, alone: true}, "config", "--system", "--no-includes", "--get", "core.autocrlf")
			if err == nil {
				t.machine = filterSettings([]setting{{"core.autocrlf", strings.TrimSpace(string(out))}})
			}
		}
		for _, path := range t.settingsFiles {
			list, err := t.config(ctx, path)
			if ctx.Err() != nil {
				return nil, cmp.Or(err, ctx.Err())
			}
			t.machine = append(t.machine, filterSettings(list)...)
		}
	}
	h := &repoView{dir: dir, settings: t.machine}
	text, err := h.read(list)
	if err != nil {
		return nil, err
	}
	return h, t.createView(h, text)
}

// read sets the fields of a view from the settings of a repository. It returns the text of the view's
// config.
func (h *repoView) read(list []setting) (string, error) {
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
			return "", fmt.Errorf("%s: a repository with %s object ids can't be saved or restored", h.dir, s.value)
		case s.key == "extensions.worktreeconfig":
			h.perTree = isTrue(s.value)
		case isExtension && name != "partialclone" && isWord(name) && isWord(s.value):
			text += "[extensions]\n\t" + name + " = " + s.value + "\n[core]\n"
		case s.key == "remote.origin.url" && h.origin == "":
			h.origin = s.value
		case s.key == "remote.origin.promisor":
			h.isPartial = isTrue(s.value)
		case s.key == "remote.origin.partialclonefilter" && isWord(s.value):
			h.filter = s.value
		}
	}
	h.settings = append(h.settings, filterSettings(list)...)
	return text, nil
}

// IsComparisonSetting reports whether a setting controls how git compares files, like core.autocrlf, and
// has a value that keptSettings allows.
func IsComparisonSetting(key, value string) bool {
	return slices.Contains(keptSettings[key], strings.ToLower(value))
}

// filterSettings returns the settings that IsComparisonSetting accepts.
func filterSettings(list []setting) []setting {
	var keep []setting
	for _, s := range list {
		if IsComparisonSetting(s.key, s.value) {
			keep = append(keep, s)
		}
	}
	return keep
}

// createView creates the directory that git sees instead of the repository's common directory. It contains
// links to files and directories of the repository. packed-refs and shallow are linked even if they don't
// exist yet. The others are linked only if they exist. On Windows it creates no directory, because links need
// privileges there.
func (t *tool) createView(h *repoView, text string) error {
	t.views[h.dir] = h
	if runtime.GOOS == "windows" {
		return nil
	}
	own, err := os.MkdirTemp(t.temp, "home-") // not reused, because the repository may have changed
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

// environ returns the variables that make git work on the repository through its view.
func (h *repoView) environ(gitDir, top string) []string {
	if h.shield == "" {
		return nil
	}
	env := []string{"GIT_DIR=" + gitDir, "GIT_COMMON_DIR=" + h.shield, "GIT_OBJECT_DIRECTORY=" + filepath.Join(h.dir, "objects")}
	if top != "" {
		env = append(env, "GIT_WORK_TREE="+top)
	}
	return env
}

// config reads a settings file like git, but without includes. If the file doesn't exist, it returns no
// settings.
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
			value = "true" // a name without a value means true in git
		}
		list = append(list, setting{key, value})
	}
	return list, nil
}

// readSettings reads a settings file. It doesn't read a file with size 0, because the path may be a link to
// /proc/kmsg, where reading blocks forever.
func readSettings(path string) ([]byte, error) {
	path = resolved(path)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, nil
	}
	data, _, err := files.Read(path, maxConfig)
	return data, err
}
