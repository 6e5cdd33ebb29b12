package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// ErrTooLarge means that the work exceeds the size limit.
var ErrTooLarge = errors.New("the work is too large to be saved")

// ErrMoved means that HEAD, branches or files changed during each of three attempts.
var ErrMoved = errors.New("HEAD or branches moved during every attempt")

// errMovedNow means that HEAD, branches or a file changed during one attempt, which can be repeated.
var errMovedNow = errors.New("HEAD or branches moved")

const attempts = 3

// SaveRequest describes a save.
type SaveRequest struct {
	// Dirs are absolute directories. The first is the run's working directory. The others are working
	// directories of agents and of their callers. Directories that don't exist are skipped.
	Dirs []string
	Base string // commit that the job checked out; empty if unknown
	To   string // an existing, empty directory for the index and the bundles
	Last string // directory of the previous save; empty for the first save
}

// SaveResult describes a save.
type SaveResult struct {
	Files []string // names in the directory To, the index first; nil if there was nothing to save
	// HasWork means that the save contains a commit, a change or an untracked file beyond the checkout's
	// commit, or an additional worktree or repository.
	HasWork bool
	Notes   []string // for users, about work that was not saved
	// RequiredNames are strings in the index without which a restore fails, so masking must not change
	// them: field names, directories, branches and git operations.
	RequiredNames []string
}

// Save saves the work in the git worktrees that contain the directories. It doesn't write to their
// repositories or worktrees. If a repository has not changed since the last save, Save links its bundle from
// there. If no directory is in a worktree, Save writes no files. The error wraps ErrNoGit, ErrTooLarge,
// ErrMoved, or an error of git or of files. After an error the directory To may contain any files.
func (g *Git) Save(ctx context.Context, s SaveRequest) (SaveResult, error) {
	t, err := g.open()
	if err != nil {
		return SaveResult{}, err
	}
	defer t.close()
	sources, notes, err := t.discover(ctx, s.Dirs)
	if err != nil || len(sources) == 0 {
		return SaveResult{Notes: notes}, err
	}
	notes = append(notes, t.unsavedRepositories(ctx, sources)...)
	w := &saver{git: t, SaveRequest: s, limit: g.limit(), unreliable: g.unreliableFor()}
	w.last, _ = readIndex(s.Last) // after an error, everything is packed again
	for _, source := range sources {
		for _, wt := range source.trees {
			t.tops = append(t.tops, wt.Dir)
		}
	}
	x := index{Schema: schema}
	saved := SaveResult{Files: []string{indexName}, Notes: notes, RequiredNames: []string{"repositories", "branches", "operation"}}
	for i, s := range sources {
		w.bundle = fmt.Sprintf("repo-%d.bundle", i)
		var r *repository
		earlier := s.notes
		err := retryMoved(func() (err error) {
			s.notes = slices.Clone(earlier)
			r, err = w.saveOnce(ctx, s)
			return err
		})
		if err != nil {
			return SaveResult{Notes: notes}, fmt.Errorf("save %s: %w", s.top, err)
		}
		w.used += r.Size
		x.Repositories = append(x.Repositories, *r)
		saved.Files = append(saved.Files, r.Bundle)
		saved.HasWork = saved.HasWork || r.Held
		saved.Notes = append(saved.Notes, r.Notes...)
		for _, b := range r.Branches {
			saved.RequiredNames = append(saved.RequiredNames, b.Name)
		}
		for _, t := range r.Trees {
			saved.RequiredNames = append(saved.RequiredNames, t.Dir, t.Branch, t.Operation)
		}
	}
	data, err := json.Marshal(x)
	if err != nil {
		return saved, fmt.Errorf("write %s: %w", indexName, err)
	}
	return saved, files.WriteNew(filepath.Join(w.To, indexName), data, 0o600)
}

// saver writes one save.
type saver struct {
	git *tool
	SaveRequest
	limit      int64 // maximum size of all bundles in bytes
	used       int64
	unreliable time.Duration
	last       index
	bundle     string // name of the next bundle
}

// retryMoved calls do until it returns nil or an error other than errMovedNow. If three calls return
// errMovedNow, retryMoved returns ErrMoved.
func retryMoved(do func() error) error {
	for range attempts {
		if err := do(); !errors.Is(err, errMovedNow) {
			return err
		}
	}
	return ErrMoved
}

// saveOnce saves a repository or reuses its bundle from the last save. The error is errMovedNow if a
// HEAD, a ref or a file changed during the save.
func (w *saver) saveOnce(ctx context.Context, s *source) (*repository, error) {
	before, err := w.git.refs(ctx, &s.location, s.trees...)
	if err != nil {
		return nil, err
	}
	for _, wt := range s.trees {
		if err := w.git.updateStatus(ctx, wt); err != nil {
			return nil, err
		}
		if err := w.noteSubmodules(ctx, s, wt); err != nil {
			return nil, err
		}
		if wt.Operation != "" {
			s.note("%s: git %s is in progress; its commits and files are saved, but not git's record of it", wt.Dir, wt.Operation)
		}
	}
	if before.others > 0 {
		s.note("%s: branches whose names are not UTF-8 or too long are not saved (%d)", s.top, before.others)
	}
	seen := w.fingerprint(s, before)
	if r := w.reuse(s, seen); r != nil {
		return r, nil
	}
	r, err := w.pack(ctx, s, before)
	if ctx.Err() != nil || errors.Is(err, ErrTooLarge) {
		return nil, cmp.Or(err, ctx.Err())
	}
	after, readErr := w.git.refs(ctx, &s.location, s.trees...)
	switch {
	case readErr != nil:
		return nil, readErr
	case after.raw != before.raw:
		return nil, errMovedNow
	case err != nil:
		return nil, err
	}
	r.Seen = seen
	return r, nil
}

// unreliable is how long the times of a changed file are unreliable. Another change within this duration may
// leave them unchanged, because the coarsest clock of a file system has a resolution of two seconds.
const unreliable = 2 * time.Second

// unreliableFor returns the constant unreliable or, in tests, its replacement.
func (g *Git) unreliableFor() time.Duration {
	return cmp.Or(g.unreliable, unreliable)
}

// fingerprint returns a hash of everything that the save of a repository depends on: refs, status, and the
// times and sizes of changed files. If a file changed so recently that another change could go unnoticed,
// it returns "".
func (w *saver) fingerprint(s *source, at *refs) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %q %q %v %q %q\n", schema, s.top, w.Base, s.main, at.raw, s.notes)
	since := time.Now().Add(-w.unreliable)
	for _, wt := range s.trees {
		fmt.Fprintf(h, "%q %q %q\n", wt.Dir, wt.Operation, wt.raw)
		for path, info := range wt.changed() {
			if info == nil {
				fmt.Fprintf(h, "%q gone\n", path)
				continue
			}
			is := stampOf(info)
			if is.isAfter(since) {
				return ""
			}
			fmt.Fprintf(h, "%q %v\n", path, is)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// reuse links the bundle of a repository from the last save into this save and returns its entry for the
// index. It returns nil if the repository has changed since then, or if the bundle can't be reused.
func (w *saver) reuse(s *source, seen string) *repository {
	i := slices.IndexFunc(w.last.Repositories, func(r repository) bool {
		return seen != "" && r.Seen == seen && r.Trees[0].Dir == s.top
	})
	if i < 0 {
		return nil
	}
	r := w.last.Repositories[i]
	from := filepath.Join(w.Last, r.Bundle)
	info, err := os.Lstat(from)
	if err != nil || !info.Mode().IsRegular() || info.Size() != r.Size || w.used+r.Size > w.limit {
		return nil
	}
	r.Bundle = w.bundle
	if os.Link(from, filepath.Join(w.To, r.Bundle)) != nil {
		return nil
	}
	return &r
}

// stamps is a cache of the object ids of files that a repository already contains. With it, unchanged
// files need not be read again.
type stamps struct {
	since time.Time // files that changed later are not added, because they may change again without a visible difference
	known map[string]stamped
}

// newStamps returns a cache that contains the entries of an earlier cache.
func newStamps(had map[string]stamped, since time.Time) *stamps {
	s := &stamps{since, map[string]stamped{}}
	maps.Copy(s.known, had)
	return s
}

// stamped is the object id of a file, and the metadata that the file had when its id was computed.
type stamped struct {
	id              string
	mode            os.FileMode
	size            int64
	modified, since int64 // in nanoseconds; since is the result of changeTime
}

// stampOf returns the metadata of a file, without an object id.
func stampOf(info os.FileInfo) stamped {
	return stamped{mode: info.Mode(), size: info.Size(), modified: info.ModTime().UnixNano(), since: changeTime(info)}
}

// isAfter reports whether a file changed after a time.
func (s stamped) isAfter(t time.Time) bool { return max(s.modified, s.since) > t.UnixNano() }

// id returns the cached object id of a file. If the file's metadata has changed, it returns "".
func (s *stamps) id(path string, info os.FileInfo) string {
	was, is := s.known[path], stampOf(info)
	is.id = was.id
	if was != is {
		return ""
	}
	return was.id
}

// add adds the object id of a file that was read. It doesn't add a file that could change again without a
// visible difference.
func (s *stamps) add(path string, info os.FileInfo, h hash.Hash) {
	is := stampOf(info)
	if is.isAfter(s.since) {
		return
	}
	is.id = hex.EncodeToString(h.Sum(nil))
	s.known[path] = is
}
