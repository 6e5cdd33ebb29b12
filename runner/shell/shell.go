// Package shell runs scripts and commands. A script state is one process, whose stdout is the
// message. Commands decide whether an attempt of a state is done; files that must not change
// meanwhile are checked and restored.
//
// The package knows how to start scripts on each system, and which failures are their own. It
// does not interpret tags and transitions: other packages decide about messages and verdicts.
package shell

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// MaxMessage is how many bytes a script may write to stdout. A script that writes more is ended
// at once.
const MaxMessage = 10 << 20

// maxLine is how many bytes of a line of output are read for a report. At most half of them are
// reported if the line is longer, because the text at the cut may be half a secret.
const maxLine = 64 << 10

// Backend runs scripts. It implements runner.Backend, and is safe for concurrent use.
type Backend struct {
	// Env is the environment of untrusted scripts, Trusted the environment of trusted scripts.
	// The Order adds variables.
	Env, Trusted []string
}

var _ runner.Backend = Backend{}

// Run implements runner.Backend for scripts. Answer.Text is the stdout of the script, even if
// the script failed. A script that exits with another code than 0, or is ended for a timeout or
// too long a message, is a Fatal failure; its message has the exit code or the signal, and the
// ends of both outputs. Lines of both outputs are reported as they come, at any Verbosity.
func (b Backend) Run(ctx context.Context, o runner.Order, report func(runner.Progress)) (runner.Answer, error) {
	options, failure := b.options(o)
	if failure != nil {
		return runner.Answer{Process: state.Process{ExitCode: -1}}, failure
	}
	msg, stdout, stderr := &message{}, newTail(), newTail()
	live := [2]proc.Lines{} // a separate goroutine writes to each
	for i := range live {
		live[i] = proc.Lines{Max: maxLine, Line: func(line []byte, truncated bool) {
			report(runner.Progress{Text: reportedLine(o, string(line), truncated)})
		}}
	}
	options.Stdout, options.Stderr = io.MultiWriter(msg, stdout, &live[0]), io.MultiWriter(stderr, &live[1])
	options.DebugDir, options.DebugStdout = o.DebugDir, ".txt"
	exit, err := proc.Run(ctx, options)
	live[0].Flush()
	live[1].Flush()
	answer := runner.Answer{Text: msg.String(), Process: state.Process{ExitCode: exit.Code, Signal: exit.Signal}, Notes: exit.LeftoverNotes("script")}
	env := slices.Concat(b.Env, b.Trusted)
	answer.Script.StdoutTail, _ = end(stdout, env, o.Hide)
	answer.Script.StderrTail, _ = end(stderr, env, o.Hide)
	answer.Script.TailLine = lastWords(answer.Script.StdoutTail, answer.Script.StderrTail)
	if err != nil {
		return answer, startFailure(o, err)
	}
	if failure := diagnose(o, exit, context.Cause(ctx), answer.Script.TailLine); failure != nil {
		return answer, failure
	}
	return answer, nil
}

// reportedLine returns a line of output in the form for reports: without secrets, shortened and
// escaped.
func reportedLine(o runner.Order, line string, truncated bool) string {
	if o.Hide != nil {
		line = o.Hide(line)
	}
	if truncated {
		line = line[:max(0, len(line)-maxLine/2)]
	}
	return text.Escape(strings.TrimSuffix(line, "\r"))
}

// options returns how to start the script of an order.
func (b Backend) options(o runner.Order) (proc.Options, *runner.Failure) {
	script, _, err := files.Open(o.Script.Path) // an agent may have put a pipe there, and the shell would block
	if err != nil {
		return proc.Options{}, failf(runner.Fatal, "read script: %v", err)
	}
	script.Close()
	how, f := interpreterOf(o.Script.Path)
	if f != nil {
		return proc.Options{}, f
	}
	env := b.Env
	if o.Script.IsTrusted {
		env = b.Trusted
		if o.Cage != nil {
			env = append(slices.Clone(env), visiblePath(env, o.Cage.Policy().Hidden))
		}
	}
	how.Dir, how.Env = o.Dir, append(env[:len(env):len(env)], o.Env...)
	how.Mark, how.Cage = o.Mark, o.Cage
	how.Timeout, how.Idle = o.Timeout, o.Idle
	how.InterruptGroup = true // bash handles a signal only after the command that it runs
	how.DeathSignal = syscall.SIGTERM
	return how, nil
}

// visiblePath returns the PATH of an environment without hidden folders. A shell that finds a
// program in a hidden folder can't start it, and doesn't search the other folders.
func visiblePath(env, hidden []string) string {
	path := ""
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	seen := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		at := cage.Resolve(dir)
		return slices.ContainsFunc(hidden, func(h string) bool { return cage.IsWithin(at, h) })
	})
	return "PATH=" + strings.Join(seen, string(filepath.ListSeparator))
}

// message collects stdout, up to MaxMessage bytes.
type message struct{ strings.Builder }

// Write implements io.Writer. It fails if the message gets longer than MaxMessage, and keeps the
// bytes that fit.
func (m *message) Write(p []byte) (int, error) {
	n, _ := m.Builder.Write(p[:min(len(p), MaxMessage-m.Len())])
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
