package runner

import (
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// snapshotBarrier takes workspace snapshots after prompts, and makes later prompts wait for
// them.
type snapshotBarrier struct {
	// done is closed when the last snapshot is complete and prompts may start. It is nil before
	// the first snapshot.
	done       <-chan struct{}
	workplaces map[string]*workplace
}

// workplace is the directory in which an agent executes a prompt or a script.
type workplace struct {
	dir      string
	isShared bool // true if another agent worked there at the same time
}

// update requests a snapshot for each prompt that ended in the run's last step, and records where
// the running agents work. Two agents share a workplace if one directory is inside the other.
func (f *snapshotBarrier) update(cfg *Config, run *state.Run) {
	if cfg.Snapshots == nil {
		return
	}
	for _, e := range run.Events {
		if _, ended := e.Body.(*state.StateFinished); ended && f.workplaces[e.Agent] != nil {
			w := f.workplaces[e.Agent]
			delete(f.workplaces, e.Agent)
			if st, ok := cfg.Workflow.State(e.State); ok && st.Kind == protocol.Prompt {
				f.done = cfg.Snapshots.Take(SnapshotRequest{Exec: e.Exec, Agent: e.Agent, State: e.State, Dir: w.dir, IsShared: w.isShared})
			}
		}
	}
	for _, a := range run.Agents {
		if a.Exec != nil && a.Exec.Running != nil && f.workplaces[a.ID] == nil {
			w := &workplace{dir: workDir(run, a)}
			for _, other := range f.workplaces {
				if cage.IsWithin(w.dir, other.dir) || cage.IsWithin(other.dir, w.dir) {
					w.isShared, other.isShared = true, true
				}
			}
			f.workplaces[a.ID] = w
		}
	}
}
