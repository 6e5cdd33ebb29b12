package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// Take stores a snapshot of the worktree that contains one.Dir. It determines the fields that describe the
// worktree, and copies the other fields from the parameter one. It doesn't write to the agents' repository.
// The error wraps ErrNoWorktree, ErrTooLarge, ErrMoved, or an error of git or of files.
func (s *Snapshots) Take(ctx context.Context, one Snapshot) error {
	plain, err := s.git.open()
	if err != nil {
		return err
	}
	defer plain.close()
	p, err := plain.worktree(ctx, one.Dir)
	if err != nil {
		return err
	}
	t := &snapshotTool{git: plain, dir: s.dir}
	if err := t.prepare(ctx, p); err != nil {
		return err
	}
	if s.before == nil {
		if s.before, err = t.last(ctx, &one); err != nil {
			return err
		}
	}
	// The total size of the repository of snapshots is checked after every weighEvery snapshots. If it is too large, Take
	// adds no snapshot, so the next Take checks the size again.
	if s.before.seq%weighEvery == 0 {
		var n int64
		err := filepath.WalkDir(filepath.Join(s.dir, "objects"), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil {
					n += info.Size()
				}
			}
			return nil // a file that causes an error was removed during the walk
		})
		if most := allFactor * s.limit(); n > most {
			return fmt.Errorf("%w: all snapshots of the run have more than %s", ErrTooLarge, formatBytes(most))
		}
		if err != nil {
			return err
		}
	}
	err = retryMoved(func() error { return s.takeOnce(ctx, t, p, one) })
	if errors.Is(err, ErrMoved) {
		err = fmt.Errorf("%s: %w", p.top, err)
	}
	return err
}

// prepare creates the repository of snapshots if it is missing or incomplete, and lets it borrow the
// objects of the repository at p.
func (t *snapshotTool) prepare(ctx context.Context, p *location) error {
	if !isGitDir(t.dir) {
		if err := errors.Join(os.RemoveAll(t.dir), os.MkdirAll(filepath.Dir(t.dir), 0o700), t.git.initBare(ctx, t.dir)); err != nil {
			return err
		}
	}
	if err := borrow(t.dir, p.common); err != nil {
		return err
	}
	return t.viewOwn()
}

// borrow lets the repository at dir use the objects of the repository at common. It also copies the list of
// commits at which the history of that repository is cut off.
func borrow(dir, common string) error {
	path := filepath.Join(dir, "objects", "info", "alternates")
	data, _, err := files.Read(path, maxConfig)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	line := quotePath(filepath.ToSlash(filepath.Join(common, "objects")))
	if !slices.Contains(strings.Split(string(data), "\n"), line) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := replaceAtomically(path, append(data, line+"\n"...), 0o600); err != nil {
			return err
		}
	}
	ends, err := readShallow(common)
	if err != nil || len(ends) == 0 {
		return err
	}
	known, err := readShallow(dir)
	if err != nil {
		return err
	}
	return writeShallow(dir, slices.Compact(slices.Sorted(slices.Values(slices.Concat(ends, known)))))
}

// last returns the state on which the next snapshot is based. It removes temporary files of an interrupted
// git. If a run is resumed from a state older than the snapshots, last removes the snapshots of later
// executions, because these executions will run again.
func (t *snapshotTool) last(ctx context.Context, next *Snapshot) (*takeState, error) {
	for _, pattern := range []string{"fast_import_crash_*", "shallow.lock", "objects/info/*.lock", "objects/pack/tmp_*", "refs/raymond/*/*.lock"} {
		found, _ := filepath.Glob(filepath.Join(t.dir, filepath.FromSlash(pattern)))
		for _, path := range found {
			_ = os.Remove(path) // an error doesn't matter here: git will report that the file is in the way
		}
	}
	all, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	l := &takeState{newest: map[string]Snapshot{}, heads: map[string]string{}}
	var gone []refUpdate
	for _, s := range all {
		if next.IsStart && s.Exec > next.Exec {
			gone = append(gone, refUpdate{s.ref(), s.commit, ""})
			continue
		}
		l.add(&s)
	}
	return l, t.git.updateRefs(ctx, t.call(), "", gone)
}

// add records that a snapshot is the newest snapshot of its worktree.
func (l *takeState) add(s *Snapshot) {
	l.seq = max(l.seq, s.Seq)
	l.newest[s.Dir] = *s
	if l.heads[s.Common] == "" {
		l.heads[s.Common] = s.Head
	}
}

// takeOnce takes a snapshot. The error is errMovedNow if a file changed during the snapshot.
func (s *Snapshots) takeOnce(ctx context.Context, t *snapshotTool, p *location, one Snapshot) error {
	wt, err := t.git.readStatus(ctx, p)
	if err != nil {
		return err
	}
	one.Seq, one.Dir, one.Common, one.Branch, one.Head, one.Operation = s.before.seq+1, p.top, p.common, wt.Branch, wt.Head, wt.Operation
	// The snapshot is compared with the previous snapshot of the same worktree. The first snapshot of a worktree is
	// compared with the commit at which the worktree started. For a worktree that an agent created, this is the newest
	// commit in the history of both its HEAD and the HEAD in the repository's first snapshot.
	first, previous := s.before.heads[one.Common], s.before.newest[one.Dir]
	switch {
	case previous.commit != "":
		one.After, one.from = previous.Seq, previous.commit
	case first == "" || one.Head == "" || first == one.Head:
		one.Base = one.Head
	default:
		out, err := t.git.output(ctx, t.call(), "merge-base", first, one.Head)
		if err != nil && !exitedWith(err, 1) {
			return err
		}
		one.Base = strings.TrimSpace(string(out))
	}
	about, err := one.message()
	if err != nil {
		return err
	}
	known := newStamps(s.before.known, time.Now().Add(-s.git.unreliableFor()))
	k := &packer{git: t.git, src: &source{location: *p, main: true, trees: []*worktree{wt}}, call: t.call(), at: &refs{},
		ref: one.ref(), about: about, stamps: known, single: s.limit(), settings: []setting{{"core.compression", "1"}, {"pack.compression", "1"}}}
	if one.commit, err = k.commit(ctx, s.limit()); err != nil {
		return fmt.Errorf("%w%s", err, k.largest)
	}
	s.before.add(&one)
	s.before.known = known.known
	return nil
}

// message returns the commit message of a snapshot: its fields in JSON.
func (s *Snapshot) message() (string, error) {
	data, err := json.Marshal(s, json.Deterministic(true))
	return string(data), err
}
