package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// ErrNoSnapshot says that there is no snapshot of a state execution.
var ErrNoSnapshot = errors.New("there is no snapshot of the files")

// ErrNoWorktree says that a directory lies in no git worktree of its own.
var ErrNoWorktree = errors.New("it is in no git worktree")

// Snapshots are the files of git worktrees as they were at moments of a run: after state
// executions, and where the run was started or resumed. Each is a commit like that of a
// save, in a bare repository of ours that borrows the objects of the real ones. Only
// Checkout writes to those.
//
// Every method may be called at any time, but Take by one goroutine alone. Where no
// snapshot was taken, there is no repository, and the methods find none.
type Snapshots struct {
	git *Git
	dir string

	before *last // what the last Take left; nil before the first
}

// last is what a snapshot builds on.
type last struct {
	seq    int
	newest map[string]Snapshot // by worktree
	heads  map[string]string   // by repository: where HEAD was at its first snapshot
	known  map[string]stamped
}

// OpenSnapshots returns the snapshots in a folder, which the first Take makes.
func (g *Git) OpenSnapshots(dir string) *Snapshots { return &Snapshots{git: g, dir: dir} }

// shotLimit is how many bytes a snapshot may add, packed. It is less than a save may have:
// the next prompt waits for it.
const shotLimit = 64 << 20

func (s *Snapshots) limit() int64 { return min(s.git.limit(), shotLimit) }

// allFactor is how much larger than one all snapshots of a run may be, on the disk.
const allFactor = 16

// weighEvery is after how many snapshots the size of all is looked at.
const weighEvery = 8

// Snapshot is one worktree at one moment.
type Snapshot struct {
	// Exec is the number of the state execution that has ended. Of a start it is the
	// highest number that there is, 0 for none.
	Exec     int    `json:"exec"`
	IsStart  bool   `json:"start,omitempty"` // the run was started or resumed; nothing was executed
	Agent    string `json:"agent,omitempty"`
	State    string `json:"state,omitempty"`
	IsShared bool   `json:"shared,omitempty"` // another agent worked in the same folder meanwhile
	Seq      int    `json:"seq"`              // counts the snapshots in the order in which they were taken

	Dir       string `json:"dir"`    // the top of the worktree, absolute
	Common    string `json:"common"` // the folder that the worktrees of the repository share
	Branch    string `json:"branch,omitempty"`
	Head      string `json:"head,omitempty"` // "" before the first commit
	Operation string `json:"operation,omitempty"`
	// After is the Seq of the snapshot before it in the same worktree, with which the files
	// are compared; 0 for the first, which is compared with the commit Base, "" for none.
	After int    `json:"after,omitempty"`
	Base  string `json:"base,omitempty"`

	commit string
	tree   string
	from   string // the commit of the snapshot before; "" where that is not there
}

// shotRefs are where the refs of snapshots are, and shotRef is how they look.
const shotRefs = "refs/raymond/snapshots/"

var shotRef = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + shotRefs + `[0-9]{1,9}$`) })

// ref is the name of the ref of a snapshot.
func (s *Snapshot) ref() string { return shotRefs + strconv.Itoa(s.Seq) }

// Bounds on what a bundle may bring: snapshots, and bytes of the commit of each.
const (
	maxSnapshots = 100_000
	maxCommit    = 64 << 10
)

// List returns all snapshots, in the order in which they were taken.
func (s *Snapshots) List(ctx context.Context) ([]Snapshot, error) {
	t, err := s.open()
	if t == nil {
		return nil, err
	}
	defer t.git.close()
	return t.list(ctx)
}

// open finds git for a repository that exists; the tool is nil when it doesn't.
func (s *Snapshots) open() (*shotTool, error) {
	if _, err := os.Lstat(filepath.Join(s.dir, "HEAD")); err != nil {
		return nil, nil
	}
	t, err := s.git.open()
	if err != nil {
		return nil, err
	}
	st := &shotTool{git: t, dir: s.dir}
	if err := st.shieldOwn(); err != nil {
		t.close()
		return nil, err
	}
	return st, nil
}

// shotTool is git for snapshots.
type shotTool struct {
	git *tool
	dir string
}

func (t *shotTool) call() call { return call{dir: t.dir, bare: t.dir} }

// shieldOwn has git read none of the settings in the repository: what was made by us may
// have been changed by an agent.
func (t *shotTool) shieldOwn() error {
	if t.git.homes[t.dir] != nil { // for another repository of the run
		return nil
	}
	if err := check(t.dir, readOfCommon...); err != nil {
		return err
	}
	return t.git.show(&home{dir: t.dir, isOurs: true}, "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n")
}

// list reads what the commits say of themselves. What no Take writes is passed over.
func (t *shotTool) list(ctx context.Context) ([]Snapshot, error) {
	out, err := t.git.output(ctx, t.call(), "for-each-ref", "--format=%(objectname) %(objecttype) %(tree) %(refname) %(contents:subject)", shotRefs)
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

func (s *Snapshot) isValid() bool {
	return s.Exec >= 0 && s.Seq > 0 && isID(s.commit) && isPlainDir(s.Dir) && isPlainDir(s.Common) &&
		(s.Head == "" || isID(s.Head)) &&
		s.After >= 0 && s.After < s.Seq && (s.Base == "" || isID(s.Base)) &&
		(s.Branch == "" || isBranch(s.Branch)) && slices.Contains(operations, s.Operation)
}

// SnapshotsBefore returns, of all snapshots, those that have the files as they were when a state
// execution was about to start: for each worktree the newest that has nothing of it or of
// a later one. The first is that of the worktree in which the run was started.
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
