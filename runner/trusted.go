package runner

import (
	"context"
	"os"
	"path/filepath"
)

// HandedOver is what agents have done, as a trusted script gets it; zero where they work in no repository.
type HandedOver struct {
	Repository string // a bare one
	Lacks      string // a file that names what is not in it, one a line
}

// alone gives a trusted script folders that nobody has written to: an empty one to start in and, where it is in a
// domain of its own, a home and a place for temporary files; and the agents' work, if it gets that. The caller
// calls end when the script has ended, also after an error.
func (w worker) alone(ctx context.Context, o *Order) (end func(), err error) {
	own, err := os.MkdirTemp(w.cfg.OwnDir, "s")
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
	if got != (HandedOver{}) {
		o.Env = append(o.Env, "RAYMOND_WORK="+got.Repository, "RAYMOND_WORK_LACKS="+got.Lacks)
	}
	return end, nil
}

// work is what the agent's script is handed over of the agents' work.
func (x invocation) work(dir string) *Work {
	if !x.state.Work {
		return nil
	}
	w := &Work{Dir: dir, Others: map[string]string{}, At: x.agent.Exec.Started, Workflows: x.state.Workflows}
	for _, other := range x.run.Agents {
		if at := workDir(x.run, other); at != dir {
			w.Others[other.ID] = at
		}
	}
	return w
}
