package runner

import (
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// filing has the files of the workspace kept after prompts. A nil one keeps none.
type filing struct {
	keep   Snapshots
	done   <-chan struct{} // closed when the last ones are kept; nil before there are any
	at     map[string]*work
	states func(name string) (*protocol.State, bool)
}

// work is where an agent executes a prompt.
type work struct {
	dir      string
	isShared bool // another agent worked there meanwhile
}

func newFiling(cfg *Config) *filing {
	if cfg.Snapshots == nil {
		return nil
	}
	return &filing{keep: cfg.Snapshots, at: map[string]*work{}, states: cfg.Workflow.State}
}

// note has the files kept for each prompt that a step has ended, and sees who works where
// from now on.
func (f *filing) note(run *state.Run) {
	if f == nil {
		return
	}
	for _, e := range run.Events {
		if _, ended := e.Body.(*state.StateFinished); ended && f.at[e.Agent] != nil {
			w := f.at[e.Agent]
			delete(f.at, e.Agent)
			if st, ok := f.states(e.State); ok && st.Kind == protocol.Prompt {
				f.done = f.keep.Take(Shot{Exec: e.Exec, Agent: e.Agent, State: e.State, Dir: w.dir, IsShared: w.isShared})
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

// kept is closed when prompts may start; nil when nothing keeps them.
func (f *filing) kept() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.done
}
