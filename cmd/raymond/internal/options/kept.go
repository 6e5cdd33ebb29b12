package options

import (
	"errors"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// What --workspace may be.
const (
	WorkspaceGit  = "git"  // snapshots are taken of the git worktrees that agents work in
	WorkspaceNone = "none" // none are taken
)

// AddKept defines the flags of what is kept of a run for later. They are of this process: a
// resume takes nothing of them from the run.
func (o *Options) AddKept() {
	o.History = state.DefaultHistory
	o.Add("history", "SIZE", "how much is kept of the steps of the run, for history and rerun; 0: none (default 64MiB)", func(s string) (err error) {
		o.History, err = size(s)
		return err
	})
	o.Add("workspace", "WHAT", "git: keep the files of the agents' git worktrees as they are after each prompt state, for rerun and report; none: don't (default none)", func(s string) error {
		o.Workspace = s
		return OneOf(s, WorkspaceGit, WorkspaceNone)
	})
}

// units are those of sizes, in bytes.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}}

// mostSize is the largest size of a history.
const mostSize = 1 << 40

// size reads a number of bytes, such as 64MiB.
func size(s string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err == nil && int64(n) <= mostSize/u.bytes {
			return int64(n) * u.bytes, nil
		}
		break
	}
	return 0, errors.New("want a size such as 64MiB, 512KiB or 0")
}
