package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// worker runs invocations. Its work is the only code of this package outside the
// owner; the owner always receives what it sends.
type worker struct {
	cfg    *Config
	mail   chan<- message
	kept   <-chan struct{} // closed when the files of the workspace are kept as the prompt before has left them; nil: nobody keeps them
	others []underway      // when the invocation was started
}

// work runs one invocation.
func (w worker) work(ctx context.Context, o Order) {
	tell := func(p Progress) { w.mail <- message{agent: o.Agent, progress: &p} }
	if o.Checks != nil {
		v := w.cfg.Verifier.Verify(ctx, o, func(p Progress) {
			if o.Verbosity != VerbosityNone {
				tell(p)
			}
		})
		w.mail <- message{agent: o.Agent, verified: &v}
		return
	}
	answer, err := w.invoke(ctx, o, tell)
	answer.End = w.end(o, answer)
	m := message{agent: o.Agent, answer: answer}
	if err != nil && !errors.As(err, &m.failure) {
		m.failure = &Failure{Class: Fatal, Message: err.Error()}
	}
	w.mail <- m
}

// end returns the length that the transcript of an invocation's conversation has now; nil where
// that can't be told.
func (w worker) end(o Order, a Answer) *int64 {
	if o.Kind == protocol.Script {
		return nil
	}
	c := Conversation{ID: o.Prompt.SessionID, CLI: a.CLIID, Dir: o.Dir}
	if state.ValidSession(a.SessionID) {
		c.ID = a.SessionID
	}
	if o.Prompt.Session == state.Resume && !state.ValidSession(c.CLI) {
		c.CLI = o.Prompt.CLIID
	}
	n, ok := w.cfg.Agents[o.Prompt.Backend].Length(c)
	if !ok {
		return nil
	}
	return &n
}

func (w worker) invoke(ctx context.Context, o Order, tell func(Progress)) (_ Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Failure{Class: Fatal, Message: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	if failure := checkOrder(o); failure != nil {
		return Answer{Cost: state.Cost{Silent: true}}, failure
	}
	for path, content := range o.Script.Files {
		defer os.Remove(path)
		err := errors.Join(os.RemoveAll(path), files.WriteNew(path, []byte(content), 0o600)) // replaces whatever is there
		if err != nil {
			return Answer{Cost: state.Cost{Silent: true}}, &Failure{Class: Machine, Message: "write payload: " + err.Error()}
		}
	}
	if o.DebugDir != "" {
		_ = os.MkdirAll(o.DebugDir, 0o700) // recording never fails a run
	}
	if o.Script.IsTrusted {
		if failure := w.awaitOthers(ctx, o, tell); failure != nil {
			return Answer{Cost: state.Cost{Silent: true}}, failure
		}
		end, err := w.alone(ctx, &o)
		defer end()
		if err != nil {
			return Answer{Cost: state.Cost{Silent: true}}, err
		}
	}
	if o.Kind == protocol.Script {
		return w.cfg.Scripts.Run(ctx, o, tell)
	}
	if o.Prompt.IsChecked {
		if err := w.cfg.Verifier.Ready(); err != nil {
			return Answer{Cost: state.Cost{Silent: true}}, &Failure{Class: Machine, Message: "done_when: " + err.Error()}
		}
	}
	if w.kept != nil {
		select {
		case <-w.kept:
			for _, note := range w.cfg.Snapshots.Notes() {
				tell(Progress{Note: note})
			}
		case <-ctx.Done():
		}
	}
	return w.cfg.Agents[o.Prompt.Backend].Run(ctx, o, tell)
}

// checkOrder says why an invocation can't be started.
func checkOrder(o Order) *Failure {
	if info, err := os.Stat(o.Dir); !o.Script.IsTrusted && (err != nil || !info.IsDir()) {
		return &Failure{Class: Fatal, Message: fmt.Sprintf("the working directory %q does not exist or is not a directory", o.Dir)}
	}
	if o.Kind == protocol.Script && !filepath.IsAbs(o.Script.Path) {
		return &Failure{Class: Fatal, Message: "there is no private copy of the workflow's folder to run scripts from; keep it in a folder of its own"}
	}
	return nil
}
