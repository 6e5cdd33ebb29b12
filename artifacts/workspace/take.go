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

// Take keeps the files of the worktree that a directory, one.Dir, lies in; what else one says of the state execution is
// kept with them. Nothing is written to the repository. The errors are ErrNoWorktree, ErrTooLarge and ErrMoved, wrapped, and those of
// git and of files.
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
	t := &shotTool{git: plain, dir: s.dir}
	if err := t.prepare(ctx, p); err != nil {
		return err
	}
	if s.before == nil {
		if s.before, err = t.last(ctx, &one); err != nil {
			return err
		}
	}
	if err := s.weigh(); err != nil {
		return err
	}
	err = steadily(func() error { return s.once(ctx, t, p, one) })
	if errors.Is(err, ErrMoved) {
		err = fmt.Errorf("%s: %w", p.top, err)
	}
	return err
}

// weigh looks every now and then how large the repository has become. When it is too large it gets no more, so
// that the next one looks too.
func (s *Snapshots) weigh() error {
	if s.before.seq%weighEvery != 0 {
		return nil
	}
	var n int64
	err := filepath.WalkDir(filepath.Join(s.dir, "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil // it is gone meanwhile
	})
	if most := allFactor * s.limit(); n > most {
		return fmt.Errorf("%w: all snapshots of the run have more than %s", ErrTooLarge, sizes(most))
	}
	return err
}

// prepare makes the repository, unless it is there whole, and has it borrow the objects of
// the one that a place is in.
func (t *shotTool) prepare(ctx context.Context, p *place) error {
	if !isGitDir(t.dir) {
		if err := errors.Join(os.RemoveAll(t.dir), os.MkdirAll(filepath.Dir(t.dir), 0o700), t.git.initBare(ctx, t.dir)); err != nil {
			return err
		}
	}
	if err := borrow(t.dir, p.common); err != nil {
		return err
	}
	return t.shieldOwn()
}

// borrow has a repository of ours find the objects of another one, and know where its history
// ends.
func borrow(dir, common string) error {
	path := filepath.Join(dir, "objects", "info", "alternates")
	data, _, err := files.Read(path, maxConfig)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	line := quoted(filepath.ToSlash(filepath.Join(common, "objects")))
	if !slices.Contains(strings.Split(string(data), "\n"), line) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := replace(path, append(data, line+"\n"...), 0o600); err != nil {
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

// last finds what the next snapshot builds on. When a run is resumed from a state that is
// older than the snapshots, those of later executions are removed: they will have others.
func (t *shotTool) last(ctx context.Context, next *Snapshot) (*last, error) {
	for _, pattern := range []string{"fast_import_crash_*", "shallow.lock", "objects/info/*.lock", "objects/pack/tmp_*", "refs/raymond/*/*.lock"} {
		found, _ := filepath.Glob(filepath.Join(t.dir, filepath.FromSlash(pattern)))
		for _, path := range found {
			_ = os.Remove(path) // it is only in the way
		}
	}
	all, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	l := &last{newest: map[string]Snapshot{}, heads: map[string]string{}}
	var gone []move
	for _, s := range all {
		if next.IsStart && s.Exec > next.Exec {
			gone = append(gone, move{s.ref(), s.commit, ""})
			continue
		}
		l.add(&s)
	}
	return l, t.git.moveRefs(ctx, t.call(), "", gone)
}

func (l *last) add(s *Snapshot) {
	l.seq = max(l.seq, s.Seq)
	l.newest[s.Dir] = *s
	if l.heads[s.Common] == "" {
		l.heads[s.Common] = s.Head
	}
}

// once takes a snapshot, or returns errMovedNow.
func (s *Snapshots) once(ctx context.Context, t *shotTool, p *place, one Snapshot) error {
	wt, err := t.git.lookAt(ctx, p)
	if err != nil {
		return err
	}
	one.Seq, one.Dir, one.Common, one.Branch, one.Head, one.Operation = s.before.seq+1, p.top, p.common, wt.Branch, wt.Head, wt.Operation
	if err := t.base(ctx, s.before, &one); err != nil {
		return err
	}
	about, err := one.message()
	if err != nil {
		return err
	}
	known := newStamps(s.before.known, time.Now().Add(-s.git.unreliableFor()))
	k := &packer{git: t.git, src: &source{place: *p, main: true, trees: []*worktree{wt}}, call: t.call(), at: &refs{},
		ref: one.ref(), about: about, stamps: known, single: s.limit(), settings: []setting{{"core.compression", "1"}, {"pack.compression", "1"}}}
	if one.commit, err = k.commit(ctx, s.limit()); err != nil {
		return fmt.Errorf("%w%s", err, k.largest)
	}
	s.before.add(&one)
	s.before.known = known.known
	return nil
}

// message is what the commit of a snapshot says.
func (s *Snapshot) message() (string, error) {
	data, err := json.Marshal(s, json.Deterministic(true))
	return string(data), err
}

// base finds what the files of a snapshot are compared with: the snapshot before it in the
// same worktree. The first one in a worktree that an agent has made is compared with the
// commit on which that began.
func (t *shotTool) base(ctx context.Context, l *last, s *Snapshot) error {
	first := l.heads[s.Common]
	switch {
	case l.newest[s.Dir].commit != "":
		s.After, s.from = l.newest[s.Dir].Seq, l.newest[s.Dir].commit
	case first == "" || s.Head == "" || first == s.Head:
		s.Base = s.Head
	default:
		out, err := t.git.output(ctx, t.call(), "merge-base", first, s.Head)
		if err != nil && !exited(err, 1) {
			return err
		}
		s.Base = strings.TrimSpace(string(out))
	}
	return nil
}
