package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// ErrNoSnapshot means that a state execution has no snapshot.
var ErrNoSnapshot = errors.New("there is no snapshot of the files")

// ErrNoWorktree means that a directory is not in a git worktree.
var ErrNoWorktree = errors.New("not in a git worktree")

// Snapshots are the workspace snapshots of a run: the files of git worktrees after each state execution,
// and at each start or resumption of the run. A snapshot is a commit like the commit of a save. It is
// stored in a separate bare repository that borrows the objects of the agents' repositories. Only Checkout
// and Restore write to the agents' repositories.
//
// All methods are safe for concurrent use, except that only one goroutine may call Take. Until Take or Unpack
// creates the repository, the other methods find no snapshots.
type Snapshots struct {
	git *Git
	dir string

	before *takeState // state after the last Take; nil before the first Take
}

// takeState is the state on which the next snapshot is based.
type takeState struct {
	seq    int
	newest map[string]Snapshot // newest snapshot by worktree
	heads  map[string]string   // HEAD at the first snapshot, by repository
	known  map[string]stamped
}

// OpenSnapshots returns the snapshots in a directory. If the directory doesn't exist, Take or Unpack creates
// it.
func (g *Git) OpenSnapshots(dir string) *Snapshots { return &Snapshots{git: g, dir: dir} }

// snapshotLimit is the maximum number of packed bytes that a snapshot may add. It is less than the limit of
// a save, because the next prompt waits for the snapshot.
const snapshotLimit = 64 << 20

// limit returns the maximum size of a snapshot in bytes, and of a bundle of snapshots.
func (s *Snapshots) limit() int64 { return min(s.git.limit(), snapshotLimit) }

// allFactor limits the size of all snapshots of a run on disk: together they may be this many times larger
// than the limit for one snapshot.
const allFactor = 16

// weighEvery is the number of snapshots after which their total size is checked again.
const weighEvery = 8

// Snapshot describes one worktree at one moment.
type Snapshot struct {
	// Exec is the number of the state execution that has ended. For a start or resumption of the run, Exec
	// is the highest number so far, or 0 before the first execution.
	Exec     int    `json:"exec"`
	IsStart  bool   `json:"start,omitempty"` // the snapshot was taken when the run was started or resumed
	Agent    string `json:"agent,omitempty"`
	State    string `json:"state,omitempty"`
	IsShared bool   `json:"shared,omitempty"` // another agent worked in the same directory at the same time
	Seq      int    `json:"seq"`              // sequence number of the snapshot

	Dir       string `json:"dir"`    // top directory of the worktree, absolute
	Common    string `json:"common"` // common directory of the repository
	Branch    string `json:"branch,omitempty"`
	Head      string `json:"head,omitempty"` // empty before the first commit
	Operation string `json:"operation,omitempty"`
	// After is the Seq of the previous snapshot of the same worktree, with which the files are compared. It
	// is 0 for the first snapshot, which is compared with the commit Base. Base may be empty.
	After int    `json:"after,omitempty"`
	Base  string `json:"base,omitempty"`

	commit string
	tree   string
	from   string // commit of the previous snapshot; empty if it doesn't exist
}

// snapshotRefs is the prefix of the refs of snapshots, and snapshotRef matches these refs.
const snapshotRefs = "refs/raymond/snapshots/"

var snapshotRef = text.Regexp(`^` + snapshotRefs + `[0-9]{1,9}$`)

// ref returns the name of the snapshot's ref.
func (s *Snapshot) ref() string { return snapshotRefs + strconv.Itoa(s.Seq) }

// Limits on a bundle: the number of snapshots, and the size of each snapshot's commit object in bytes.
const (
	maxSnapshots = 100_000
	maxCommit    = 64 << 10
)

// List returns all snapshots in the order in which they were taken.
func (s *Snapshots) List(ctx context.Context) ([]Snapshot, error) {
	t, err := s.open()
	if t == nil {
		return nil, err
	}
	defer t.git.close()
	return t.list(ctx)
}

// open returns a tool for the repository of snapshots, or nil if the repository doesn't exist. The caller
// must close the tool's git.
func (s *Snapshots) open() (*snapshotTool, error) {
	if _, err := os.Lstat(filepath.Join(s.dir, "HEAD")); err != nil {
		return nil, nil
	}
	t, err := s.git.open()
	if err != nil {
		return nil, err
	}
	st := &snapshotTool{git: t, dir: s.dir}
	if err := st.viewOwn(); err != nil {
		t.close()
		return nil, err
	}
	return st, nil
}

// snapshotTool runs git in the repository of snapshots.
type snapshotTool struct {
	git *tool
	dir string
}

// call returns a git call in the repository of snapshots.
func (t *snapshotTool) call() call { return call{dir: t.dir, bare: t.dir} }

// viewOwn makes git ignore the settings in the repository of snapshots, because an agent may have
// changed them.
func (t *snapshotTool) viewOwn() error {
	if t.git.views[t.dir] != nil { // set by an earlier call
		return nil
	}
	if err := checkFiles(t.dir, filesOfCommon...); err != nil {
		return err
	}
	return t.git.createView(&repoView{dir: t.dir, isOurs: true}, "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n")
}

// list reads the snapshots from their commits. It skips commits that Take never writes.
func (t *snapshotTool) list(ctx context.Context) ([]Snapshot, error) {
	out, err := t.git.output(ctx, t.call(), "for-each-ref", "--format=%(objectname) %(objecttype) %(tree) %(refname) %(contents:subject)", snapshotRefs)
	if err != nil {
		return nil, err
	}
	var all []Snapshot
	for line := range strings.SplitSeq(string(out), "\n") {
		f := strings.SplitN(line, " ", 5)
		if len(f) != 5 || f[1] != "commit" {
			continue
		}
		one := Snapshot{commit: f[0], tree: f[2]}
		if json.Unmarshal([]byte(f[4]), &one) == nil && one.isValid() && one.ref() == f[3] {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b Snapshot) int { return a.Seq - b.Seq })
	commits := map[int]string{}
	for i := range all {
		if all[i].After > 0 {
			all[i].from = commits[all[i].After]
		}
		commits[all[i].Seq] = all[i].commit
	}
	return all, nil
}

// isValid reports whether Take could have written the snapshot.
func (s *Snapshot) isValid() bool {
	return s.Exec >= 0 && s.Seq > 0 && isID(s.commit) && isPlainDir(s.Dir) && isPlainDir(s.Common) &&
		(s.Head == "" || isID(s.Head)) &&
		s.After >= 0 && s.After < s.Seq && (s.Base == "" || isID(s.Base)) &&
		(s.Branch == "" || isBranch(s.Branch)) && slices.Contains(operations, s.Operation)
}

// SnapshotsBefore returns the snapshots with the files before a state execution. For each worktree, this is
// the newest snapshot that was taken before the execution. The first result describes the worktree in which
// the run was started.
func SnapshotsBefore(all []Snapshot, exec int) []Snapshot {
	var found []Snapshot
	for _, s := range all {
		if s.Exec >= exec {
			break
		}
		i := slices.IndexFunc(found, func(f Snapshot) bool { return f.Dir == s.Dir })
		if i < 0 {
			found = append(found, s)
		} else {
			found[i] = s
		}
	}
	return found
}

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
