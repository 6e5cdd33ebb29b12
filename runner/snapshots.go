package runner

import (
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// filing has the files of the workspace kept after prompts, if anybody keeps them.
type filing struct {
	kept <-chan struct{} // closed when the last ones are kept, so that prompts may start; nil before there are any
	at   map[string]*work
}

// work is where an agent executes a prompt.
type work struct {
	dir      string
	isShared bool // another agent worked there meanwhile
}

// note has the files kept for each prompt that a step has ended, and sees who works where
// from now on.
func (f *filing) note(cfg *Config, run *state.Run) {
	if cfg.Snapshots == nil {
		return
	}
	for _, e := range run.Events {
		if _, ended := e.Body.(*state.StateFinished); ended && f.at[e.Agent] != nil {
			w := f.at[e.Agent]
			delete(f.at, e.Agent)
			if st, ok := cfg.Workflow.State(e.State); ok && st.Kind == protocol.Prompt {
				f.kept = cfg.Snapshots.Take(SnapshotRequest{Exec: e.Exec, Agent: e.Agent, State: e.State, Dir: w.dir, IsShared: w.isShared})
			}
		}
	}
	for _, a := range run.Agents {
		if a.Exec != nil && a.Exec.Running != nil && f.at[a.ID] == nil {
			f.begin(a.ID, workDir(run, a))
		}
	}
}

// begin notes that an agent works in a directory.
func (f *filing) begin(agent, dir string) {
	w := &work{dir: dir}
	for _, other := range f.at {
		if cage.IsWithin(dir, other.dir) || cage.IsWithin(other.dir, dir) {
			w.isShared, other.isShared = true, true
		}
	}
	f.at[agent] = w
}
