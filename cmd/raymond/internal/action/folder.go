package action

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// Each step has its own directory, never in the checkout: $RUNNER_TEMP/raymond/{job}-{step}-{n}.
// All steps inside a composite action have the outer step's name, so n counts the main phases with
// that name in this job. The runner passes n, and nothing else, to the post phase.

// partState is the name under which the runner keeps n.
const partState = "part"

// Names of the files and directories that all steps of a job share, beside the steps' own
// directories.
const (
	keysFolder = "keys"
	agentsFile = "agents.note"
	tagsFolder = "tags" // lists of the tags that checkouts had before agents began
)

// stepFolders returns the parent of the steps' directories, and the name of this step's directory
// without its number. If the usual parent belongs to another user, for example to a container's
// root, it returns another one. If agents of an earlier step have closed the parent, it opens it
// again.
func stepFolders(getenv func(string) string) (parent, name string) {
	parent = filepath.Join(cmp.Or(getenv("RUNNER_TEMP"), os.TempDir()), "raymond")
	name = fileName(cmp.Or(getenv("GITHUB_JOB"), "job")) + "-" + fileName(cmp.Or(getenv("GITHUB_ACTION"), "step"))
	if err := os.Chmod(parent, 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EACCES) {
		parent += "-" + strconv.Itoa(os.Getuid())
	}
	return parent, name
}

// makeOwn creates the directory of a main phase, and passes its number to the post phase.
func makeOwn(s *step) (dir string, err error) {
	parent, name := stepFolders(s.env.Getenv)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", problem.OfMachine("RUNNER_TEMP", err)
	}
	n := 0
	for err = fs.ErrExist; errors.Is(err, fs.ErrExist); { // earlier main phases have used the lower numbers
		n++
		dir = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
		err = os.Mkdir(dir, 0o700)
	}
	var key checkpoints.SealKey
	if err == nil {
		key, err = sealKey(s.env, s.in, s.event, dir)
	}
	if err == nil && key != nil { // before the post phase can find the directory
		s.note.seals, err = checkpoints.NewSeals(dir, key)
	}
	if err != nil || s.env.Getenv("GITHUB_STATE") == "" { // not in a job
		return dir, problem.OfMachine("RUNNER_TEMP", err)
	}
	return dir, problem.OfMachine("GITHUB_STATE", s.files.SaveState(partState, strconv.Itoa(n)))
}

// ownOfMain returns the directory that the main phase of this step has created, or "" if the main
// phase did not get that far.
func ownOfMain(getenv func(string) string) string {
	n, err := strconv.Atoi(getenv("STATE_" + partState))
	if err != nil || n < 1 {
		return ""
	}
	parent, name := stepFolders(getenv)
	return filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
}

// clearAway removes a step's files, because a runner can't remove files of a container's root. If
// the post phase has failed, the run stays. The last step of a job also removes the files that the
// steps share.
func clearAway(dirs folders, failed bool) error {
	if failed {
		if err := checkpoints.Clear(dirs.own); err != nil {
			return err
		}
	} else if err := os.RemoveAll(dirs.own); err != nil {
		return err
	}
	parent, shared := filepath.Dir(dirs.own), []string{filepath.Base(dirs.own), keysFolder, agentsFile, tagsFolder}
	entries, err := os.ReadDir(parent)
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(shared, e.Name()) }) {
		return err
	}
	for _, name := range shared[1:] {
		err = errors.Join(err, os.RemoveAll(filepath.Join(parent, name)))
	}
	_ = os.Remove(parent) // fails if a run stays
	return err
}

// reopen gives this process read and write access to a directory and everything in it. Agents can't
// write to this step's or to actions' directories, but no cage keeps them from changing modes.
// Errors are ignored here, because they show when the files are used.
func reopen(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d == nil {
			return nil // it no longer exists, which also shows later
		}
		own := map[fs.FileMode]fs.FileMode{0: 0o600, fs.ModeDir: 0o700}[d.Type()]
		if info, err := d.Info(); err == nil && info.Mode()&own != own {
			_ = os.Chmod(path, info.Mode().Perm()|own)
		}
		return nil
	})
}

// fileName replaces the characters that are not allowed in file names on some system.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '-'
		}
		return r
	}, s)
}

// localDir returns the directory in state-dir for the runs of this repository. Runs of other
// repositories are never resumed.
func localDir(dirs folders, in job.Settings, repository string) (string, error) {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || fileName(owner) != owner || fileName(name) != name || !filepath.IsLocal(owner) || !filepath.IsLocal(name) {
		return "", problem.Usage("GITHUB_REPOSITORY", fmt.Sprintf("%q does not have the form owner/name", repository),
			"store: local needs it to separate the runs of repositories")
	}
	return dirs.named("state-dir", dirs.top, filepath.Join(in.StateDir, owner, name))
}
