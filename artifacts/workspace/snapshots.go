package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

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
