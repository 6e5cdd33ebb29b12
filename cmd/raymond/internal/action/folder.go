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

// A step keeps what is its own in a folder of its own, never in the checkout:
// $RUNNER_TEMP/raymond/{job}-{step}-{n}. Steps inside a composite action all bear
// the name of the outer one, so n counts the main parts of that name in this job.
// It is the one thing that the post part is told by way of the runner.

// partState is the name under which n is kept.
const partState = "part"

// What all steps of a job share, beside their folders.
const (
	keysFolder = "keys"
	agentsFile = "agents.note"
	tagsFolder = "tags" // lists of the tags that checkouts had before agents began
)

// stepFolders are the parent of the folders of steps, and the name of this one's
// without its number. A parent that a container's root has left to another user is none,
// and one that agents of an earlier step have closed is opened again.
func stepFolders(getenv func(string) string) (parent, name string) {
	parent = filepath.Join(cmp.Or(getenv("RUNNER_TEMP"), os.TempDir()), "raymond")
	name = fileName(cmp.Or(getenv("GITHUB_JOB"), "job")) + "-" + fileName(cmp.Or(getenv("GITHUB_ACTION"), "step"))
	if err := os.Chmod(parent, 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EACCES) {
		parent += "-" + strconv.Itoa(os.Getuid())
	}
	return parent, name
}

// makeOwn makes the folder of a main part, and keeps its number for the post part.
func makeOwn(s *step) (dir string, err error) {
	parent, name := stepFolders(s.env.Getenv)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", problem.OfMachine("RUNNER_TEMP", err)
	}
	n := 0
	for err = fs.ErrExist; errors.Is(err, fs.ErrExist); { // those of earlier main parts are there
		n++
		dir = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
		err = os.Mkdir(dir, 0o700)
	}
	var key checkpoints.SealKey
	if err == nil {
		key, err = sealKey(s.env, s.in, s.event, dir)
	}
	if err == nil && key != nil { // before the post part can know of the folder
		s.note.seals, err = checkpoints.NewSeals(dir, key)
	}
	if err != nil || s.env.Getenv("GITHUB_STATE") == "" { // not in a job
		return dir, problem.OfMachine("RUNNER_TEMP", err)
	}
	return dir, problem.OfMachine("GITHUB_STATE", s.files.SaveState(partState, strconv.Itoa(n)))
}

// ownOfMain is the folder that the main part of this step has made; "" when it did
// not get that far.
func ownOfMain(getenv func(string) string) string {
	n, err := strconv.Atoi(getenv("STATE_" + partState))
	if err != nil || n < 1 {
		return ""
	}
	parent, name := stepFolders(getenv)
	return filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
}

// clearAway removes what a step has made for itself, since a runner can't remove what a container's root has made. The run
// stays where the post part has failed; what the steps of a job share goes with the last of them.
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
	_ = os.Remove(parent) // unless the run stays
	return err
}

// reopen makes a folder of ours or of an action, and what is in it, ours to read and write again: agents can't write there,
// but no cage keeps them from changing modes. What can't be changed is found out when it is used.
func reopen(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d == nil {
			return nil // it is gone, which is found out too
		}
		own := map[fs.FileMode]fs.FileMode{0: 0o600, fs.ModeDir: 0o700}[d.Type()]
		if info, err := d.Info(); err == nil && info.Mode()&own != own {
			_ = os.Chmod(path, info.Mode().Perm()|own)
		}
		return nil
	})
}

// fileName replaces what file names of some system can't hold.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '-'
		}
		return r
	}, s)
}

// localDir is where the runs of this repository are kept in the state folder: no
// other's are ever resumed.
func localDir(dirs folders, in job.Settings, repository string) (string, error) {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || fileName(owner) != owner || fileName(name) != name || !filepath.IsLocal(owner) || !filepath.IsLocal(name) {
		return "", problem.Usage("GITHUB_REPOSITORY", fmt.Sprintf("%q is no repository of the form owner/name", repository),
			"store: local keeps the runs of each repository apart")
	}
	return dirs.named("state-dir", dirs.top, filepath.Join(in.StateDir, owner, name))
}
