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

// worker runs invocations outside of the owner's goroutine. The owner always receives the messages
// that a worker sends.
type worker struct {
	cfg  *Config
	mail chan<- message
	// snapshotDone is closed when the snapshot after the last prompt is complete. It is nil if
	// no snapshots are taken.
	snapshotDone <-chan struct{}
	others       []underway // untrusted invocations that had started and not ended when this one started
}

// work runs one invocation and sends its result to the owner.
func (w worker) work(ctx context.Context, o Order) {
	report := func(p Progress) { w.mail <- message{agent: o.Agent, progress: &p} }
	if o.Checks != nil {
		v := w.cfg.Verifier.Verify(ctx, o, func(p Progress) {
			if o.Verbosity != VerbosityNone {
				report(p)
			}
		})
		w.mail <- message{agent: o.Agent, verified: &v}
		return
	}
	answer, err := w.invoke(ctx, o, report)
	if o.Kind != protocol.Script {
		c := Conversation{ID: o.Prompt.SessionID, CLI: answer.CLIID, Dir: o.Dir}
		if state.ValidSession(answer.SessionID) {
			c.ID = answer.SessionID
		}
		if o.Prompt.Session == state.Resume && !state.ValidSession(c.CLI) {
			c.CLI = o.Prompt.CLIID
		}
		if n, ok := w.cfg.Agents[o.Prompt.Backend].Length(c); ok {
			answer.End = &n
		}
	}
	m := message{agent: o.Agent, answer: answer}
	if err != nil && !errors.As(err, &m.failure) {
		m.failure = &Failure{Class: Fatal, Message: err.Error()}
	}
	w.mail <- m
}

// invoke prepares the files and folders that an order needs, and has a backend run the order.
func (w worker) invoke(ctx context.Context, o Order, report func(Progress)) (_ Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Failure{Class: Fatal, Message: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	silent := Answer{Cost: state.Cost{Silent: true}}
	if info, err := os.Stat(o.Dir); !o.Script.IsTrusted && (err != nil || !info.IsDir()) {
		return silent, &Failure{Class: Fatal, Message: fmt.Sprintf("the working directory %q does not exist or is not a directory", o.Dir)}
	}
	if o.Kind == protocol.Script && !filepath.IsAbs(o.Script.Path) {
		return silent, &Failure{Class: Fatal, Message: "there is no private copy of the workflow's folder to run scripts from; keep it in a separate folder"}
	}
	for path, content := range o.Script.Files {
		defer os.Remove(path)
		err := errors.Join(os.RemoveAll(path), files.WriteNew(path, []byte(content), 0o600)) // replace a file or link
		if err != nil {
			return silent, &Failure{Class: Machine, Message: "write payload: " + err.Error()}
		}
	}
	if o.DebugDir != "" {
		_ = os.MkdirAll(o.DebugDir, 0o700) // the run must not fail if debug files can't be written
	}
	if o.Script.IsTrusted {
		if failure := w.awaitOthers(ctx, o, report); failure != nil {
			return silent, failure
		}
		end, err := w.isolate(ctx, &o)
		defer end()
		if err != nil {
			return silent, err
		}
	}
	if o.Kind == protocol.Script {
		return w.cfg.Scripts.Run(ctx, o, report)
	}
	if o.Prompt.IsChecked {
		if err := w.cfg.Verifier.Ready(); err != nil {
			return silent, &Failure{Class: Machine, Message: "done_when: " + err.Error()}
		}
	}
	if w.snapshotDone != nil {
		select {
		case <-w.snapshotDone:
			for _, note := range w.cfg.Snapshots.Notes() {
				report(Progress{Note: note})
			}
		case <-ctx.Done():
		}
	}
	return w.cfg.Agents[o.Prompt.Backend].Run(ctx, o, report)
}
