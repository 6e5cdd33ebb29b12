package runner

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// HandOver is what agents have done, as a trusted script gets it; zero where they work in no repository.
type HandOver struct {
	Repository    string // a bare one
	OmissionsFile string // a file that names what is not in it, one a line
}

// underway is an invocation that is not trusted.
type underway struct {
	name  string
	ended chan struct{} // closed at its end
}

// patience is how long a trusted script without a timeout waits for others to end.
const patience = 30 * time.Minute

// awaitOthers waits until no agent, check or other script is under way, because each of those could receive what a trusted
// script sends, for instance by a server on its port. None of them starts meanwhile: see state.Step.Separate.
func (w worker) awaitOthers(ctx context.Context, o Order, tell func(Progress)) *Failure {
	names := running(w.others)
	if names == "" {
		return nil
	}
	tell(Progress{Note: fmt.Sprintf("%s (%s) waits for agents, checks and other scripts to end; still running: %s", o.Agent, o.State, names)})
	longest := cmp.Or(o.Timeout, patience)
	expired := time.After(longest)
	for _, other := range w.others {
		select {
		case <-other.ended:
		case <-expired:
			return &Failure{Class: TimedOut, Message: fmt.Sprintf("timeout: waited %v for agents, checks and other scripts to end; still running: %s", longest, running(w.others))}
		case <-ctx.Done():
			return &Failure{Class: Stopped, Message: context.Cause(ctx).Error()}
		}
	}
	return nil
}

// running names the invocations that have not ended.
func running(others []underway) string {
	var names []string
	for _, other := range others {
		select {
		case <-other.ended:
		default:
			names = append(names, other.name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// alone gives a trusted script folders that nobody has written to: an empty one to start in and, where it is in a
// domain of its own, a home and a place for temporary files; and the agents' work, if it gets that. The caller
// calls end when the script has ended, also after an error.
func (w worker) alone(ctx context.Context, o *Order) (end func(), err error) {
	own, err := os.MkdirTemp(w.cfg.TrustedDir, "s")
	end = func() { _ = os.RemoveAll(own) } // the end of the run removes what is left
	folder := func(name string) string {
		path := filepath.Join(own, name)
		if err == nil {
			err = os.Mkdir(path, 0o700)
		}
		return path
	}
	o.Dir = folder("empty")
	if o.Cage != nil {
		temp := folder("tmp")
		o.Env = append(o.Env, "HOME="+folder("home"), "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp)
	}
	work := folder("work")
	if err != nil {
		return end, &Failure{Class: Machine, Message: "make a folder for the script: " + err.Error()}
	}
	if o.Script.Work == nil || w.cfg.HandOver == nil {
		return end, nil
	}
	got, err := w.cfg.HandOver(ctx, *o.Script.Work, work)
	if err != nil {
		return end, &Failure{Class: Fatal, Message: "work=true: the agents' work can't be handed over: " + err.Error()}
	}
	if got != (HandOver{}) {
		o.Env = append(o.Env, "RAYMOND_WORK="+got.Repository, "RAYMOND_WORK_LACKS="+got.OmissionsFile)
	}
	return end, nil
}

// work is what the agent's script is handed over of the agents' work.
func (x invocation) work(dir string) *Work {
	if !x.state.Work {
		return nil
	}
	w := &Work{Dir: dir, OtherDirs: map[string]string{}, Since: x.agent.Exec.Started, IncludesWorkflows: x.state.Workflows}
	for _, other := range x.run.Agents {
		if at := workDir(x.run, other); at != dir {
			w.OtherDirs[other.ID] = at
		}
	}
	return w
}
