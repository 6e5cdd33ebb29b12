// Package shell runs scripts and commands. A script state is one process, whose stdout is the
// state's final message. Commands decide whether an attempt of a state is done. The package also
// checks and restores files that must not change during an attempt.
//
// The package knows how to start scripts on each system, and which failures are the scripts' own.
// It does not interpret tags and transitions: other packages decide about messages and verdicts.
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

// MaxMessage is the largest number of bytes that a script may write to stdout. A script that writes
// more is ended immediately.
const MaxMessage = 10 << 20

// maxLine is the largest number of bytes that are read of a line of output for a report. Only about
// the first half of a longer line's maxLine bytes is reported, because the text at the cut may be
// half a secret.
const maxLine = 64 << 10

// Backend runs scripts. It implements runner.Backend, and is safe for concurrent use.
type Backend struct {
	// Env is the environment of untrusted scripts, Trusted the environment of trusted scripts. The
	// variables in Order.Env are added to it.
	Env, Trusted []string
}

var _ runner.Backend = Backend{}

// Run implements runner.Backend for scripts. Answer.Text is the stdout of the script, even if the
// script failed. A script fails with class Fatal if its exit code is not 0, if it exceeds a timeout,
// or if its message is too long. The message of the failure contains the exit code or the signal,
// and the ends of both outputs. Lines of both outputs are reported as they arrive, at any Verbosity.
func (b Backend) Run(ctx context.Context, o runner.Order, report func(runner.Progress)) (runner.Answer, error) {
	options, failure := b.options(o)
	if failure != nil {
		return runner.Answer{Process: state.Process{ExitCode: -1}}, failure
	}
	msg, stdout, stderr := &message{}, newTail(), newTail()
	live := [2]proc.Lines{} // a separate goroutine writes to each element
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

// reportedLine prepares a line of output for a report: it hides secrets, shortens the line and
// escapes it.
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
	// The script is opened only as a check: an agent may have put a pipe there, on which the shell
	// would block.
	script, _, err := files.Open(o.Script.Path)
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
	how.InterruptGroup = true // bash handles a signal only when its current command has ended
	how.DeathSignal = syscall.SIGTERM
	return how, nil
}

// visiblePath returns the variable PATH of an environment without the hidden folders. A shell that
// finds a program in a hidden folder can't start it, and doesn't search the folders after it.
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

// Write implements io.Writer. If the message would get longer than MaxMessage, Write keeps the bytes
// that fit and returns an error.
func (m *message) Write(p []byte) (int, error) {
	n, _ := m.Builder.Write(p[:min(len(p), MaxMessage-m.Len())])
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
