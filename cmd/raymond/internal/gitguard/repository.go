package gitguard

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// Limits on what is read of git's files.
const (
	maxConfig  = 1 << 20 // bytes of settings
	maxHook    = 8 << 20
	maxPointer = 64 << 10
	maxFolders = 10_000 // files and folders of submodules
	maxHooks   = 1000
)

// repository is where git looks for settings and hooks.
type repository struct {
	configs []string // files
	targets []string // files that links among them lead to
	hooks   []string // folders
	folders []string // git's own: that of the worktree, and the one that worktrees share
}

// places are the folders that what git reads is in. Hooks and settings that are links
// themselves are no matter: the links are taken back.
func (r *repository) places() []string {
	all := slices.Clone(r.folders)
	for _, path := range slices.Concat(r.configs, r.hooks) {
		all = append(all, filepath.Dir(path))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// repositoryAt finds what git would read in a directory, also where somebody has put
// another repository in the place of the one that was there.
func repositoryAt(dir string) (*repository, error) {
	for at := dir; ; at = filepath.Dir(at) {
		gitDir, err := gitDirAt(at)
		if err != nil {
			return nil, err
		}
		if gitDir != "" {
			return read(gitDir)
		}
		if filepath.Dir(at) == at {
			return &repository{}, nil
		}
	}
}

// gitDirAt returns git's folder of a directory that is the top of a worktree, or looks to
// git like a repository itself; else "".
func gitDirAt(dir string) (string, error) {
	dotGit := filepath.Join(dir, ".git")
	info, err := os.Stat(dotGit)
	switch {
	case err == nil && info.IsDir():
		return filepath.EvalSymlinks(dotGit)
	case err == nil && info.Mode().IsRegular():
		return pointer(dotGit, "gitdir: ")
	case err == nil:
		return "", fmt.Errorf("%q: %w", dotGit, files.ErrNotRegular)
	}
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", nil
		}
	}
	return filepath.EvalSymlinks(dir)
}

// pointer reads a file that names a folder; "" where it doesn't.
func pointer(path, prefix string) (string, error) {
	data, _, err := files.Read(path, maxPointer)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || target == "" {
		return "", nil
	}
	if target = filepath.FromSlash(target); !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	target, err = filepath.EvalSymlinks(target)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // nor does git find it
	}
	return target, err
}

// read lists what git reads for a worktree with this folder, for the other worktrees of
// its repository, and for submodules.
func read(gitDir string) (*repository, error) {
	common, err := pointer(filepath.Join(gitDir, "commondir"), "")
	if err != nil {
		return nil, err
	}
	if common == "" {
		common = gitDir
	}
	r := &repository{configs: []string{filepath.Join(gitDir, "config.worktree")}, folders: []string{gitDir, common}}
	if common != gitDir {
		r.configs = append(r.configs, filepath.Join(common, "config.worktree"))
	}
	r.configs = append(r.configs, filepath.Join(common, "config"))
	r.hooks = append(r.hooks, filepath.Join(common, "hooks"))
	trees, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, t := range trees {
		if path := filepath.Join(common, "worktrees", t.Name()); path != gitDir {
			r.configs = append(r.configs, filepath.Join(path, "config.worktree"))
		}
	}
	if err := r.addModules(filepath.Join(common, "modules")); err != nil {
		return nil, err
	}
	for _, path := range r.configs {
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			r.targets = append(r.targets, target)
		}
	}
	return r, nil
}

// addModules adds the folders of git that submodules have.
func (r *repository) addModules(dir string) error {
	n := 0
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxFolders {
			return fmt.Errorf("%q has more than %d files and folders", dir, maxFolders)
		}
		if err != nil || !d.IsDir() {
			return nil // nothing that git reads
		}
		if name := d.Name(); name == "objects" || name == "refs" || name == "logs" || name == "hooks" {
			return fs.SkipDir
		}
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err == nil {
			r.configs = append(r.configs, filepath.Join(path, "config"), filepath.Join(path, "config.worktree"))
			r.hooks = append(r.hooks, filepath.Join(path, "hooks"))
		}
		return nil
	})
}

// content is what was at a path: a regular file or a link.
type content struct {
	data []byte
	link string // "" for a file
	mode fs.FileMode
}

func contentOf(path string, most int64) (content, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return content{}, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(path)
		return content{link: link, mode: fs.ModeSymlink}, err
	}
	data, info, err := files.Read(path, most)
	if err != nil {
		return content{}, err
	}
	return content{data: data, mode: info.Mode()}, nil
}

// isStrange reports whether it is neither a file nor a link, or a huge file.
func (c content) isStrange() bool { return c.mode == fs.ModeIrregular }

func (c content) equals(other content) bool {
	return c.mode == other.mode && c.link == other.link && bytes.Equal(c.data, other.data)
}

// put makes a path have this content, whatever is there.
func (c content) put(path string) error {
	temp := path + ".raymond"
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(filepath.Dir(path), 0o755)); err != nil {
		return err
	}
	err := error(nil)
	if c.link != "" {
		err = os.Symlink(c.link, temp)
	} else {
		err = files.WriteNew(temp, c.data, c.mode.Perm())
	}
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return os.Rename(temp, path)
}
