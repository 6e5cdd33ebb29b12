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

// HandOver is the agents' work in the form that a trusted script gets. It is zero if the agents
// don't work in a repository.
type HandOver struct {
	Repository    string // path of a bare git repository
	OmissionsFile string // path of a file that lists the files missing in the repository, one per line
}

// underway is an untrusted invocation that trusted scripts must wait for.
type underway struct {
	name  string
	ended chan struct{} // closed when the invocation has ended
}

// patience is how long a trusted script without a timeout waits for other invocations to end.
const patience = 30 * time.Minute

// awaitOthers waits until no agent, check or other script is running. Each of them could receive
// data that a trusted script sends, for example with a server on a port that the script uses. No
// other invocation starts while awaitOthers waits: see state.Step.SetExclusive.
func (w worker) awaitOthers(ctx context.Context, o Order, report func(Progress)) *Failure {
	names := running(w.others)
	if names == "" {
		return nil
	}
	report(Progress{Note: fmt.Sprintf("%s (%s) waits for agents, checks and other scripts to end; still running: %s", o.Agent, o.State, names)})
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

// running returns the names of the invocations that have not ended.
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

// isolate gives a trusted script folders that no other process has written to: an empty one to
// start in; in a cage, a home and a folder for temporary files; and a folder with the agents' work,
// if the script gets it. It sets Dir and Env of the order accordingly. The caller must call end when
// the script has ended, also after an error.
func (w worker) isolate(ctx context.Context, o *Order) (end func(), err error) {
	own, err := os.MkdirTemp(w.cfg.TrustedDir, "s")
	end = func() { _ = os.RemoveAll(own) } // if this fails, the folder is removed at the end of the run
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
