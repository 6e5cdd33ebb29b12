// Package shell runs scripts and commands. A script state is one process, whose stdout is the
// state's final message. Commands decide whether an attempt of a state is done. The package also
// checks and restores files that must not change during an attempt.
//
// The package knows how to start scripts on each system, and which failures are the scripts' own.
// It does not interpret tags and transitions: other packages decide about messages and verdicts.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
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
			shown := string(line)
			if o.Hide != nil {
				shown = o.Hide(shown)
			}
			if truncated {
				shown = shown[:max(0, len(shown)-maxLine/2)]
			}
			report(runner.Progress{Text: text.Escape(strings.TrimSuffix(shown, "\r"))})
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
	for _, s := range []struct{ name, output string }{{"stdout", answer.Script.StdoutTail}, {"stderr", answer.Script.StderrTail}} {
		if last := strings.TrimSpace(text.LastLines(strings.TrimSpace(s.output), wordsSize)); last != "" {
			answer.Script.TailLine += "; " + s.name + ": " + text.Escape(last)
		}
	}
	if err != nil {
		class := runner.Machine
		if path, ok := errors.AsType[*fs.PathError](err); ok && path.Path == o.Dir || errors.Is(err, syscall.E2BIG) {
			class = runner.Fatal // a missing directory or a too large environment is a mistake in the workflow
		}
		return answer, failf(class, "start script %q: %v", filepath.Base(o.Script.Path), err)
	}
	if failure := diagnose(o, exit, context.Cause(ctx), answer.Script.TailLine); failure != nil {
		return answer, failure
	}
	return answer, nil
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

// diagnose returns why a script that has ended failed, or nil if it succeeded. words are the ends
// of the script's outputs, which the failure's message quotes.
func diagnose(o runner.Order, e proc.Exit, cause error, words string) *runner.Failure {
	class, what := runner.Fatal, ""
	switch {
	case e.Ended == proc.ByStop:
		class, what = runner.Stopped, fmt.Sprintf("stopped: %v", cause)
	case e.Ended == proc.ByTimeout:
		what = fmt.Sprintf("timed out after %v", o.Timeout)
	case e.Ended == proc.ByIdle:
		what = fmt.Sprintf("no output for %v", o.Idle)
	case e.Ended == proc.ByWriter:
		what = fmt.Sprintf("stdout is over %d MiB, the limit of a message", MaxMessage>>20)
	case e.Signal != "":
		what = "ended by " + e.Describe()
	case e.Code != 0:
		what = e.Describe()
	default:
		return nil
	}
	return &runner.Failure{Class: class, Message: text.Escape(what) + words}
}

const (
	// tailSize is how many bytes are kept of the end of an output. wordsSize is how many bytes of
	// that end an error message quotes.
	tailSize  = 4096
	wordsSize = 400
	// window is how many bytes of the end of an output are examined. It is larger than tailSize,
	// so that enough text is left when secrets have been hidden. A secret that is cut in two at
	// the beginning of the window is outside of the tail.
	window = 4 * tailSize
)

// newTail returns a writer that keeps the end of an output.
func newTail() *proc.Tail { return &proc.Tail{Max: window} }

// end returns the last tailSize bytes of an output, and whether earlier bytes were dropped. It
// hides secrets before it cuts the text. hide may be nil; env is the environment that contains
// the secrets.
func end(output *proc.Tail, env []string, hide func(string) string) (string, bool) {
	tail := string(output.Bytes())
	if output.Truncated() {
		tail = secrets.NewRedactor(env).Tail(tail)
	}
	if hide != nil {
		tail = hide(tail)
	}
	tail = strings.ToValidUTF8(tail, string(unicode.ReplacementChar))
	last := text.Suffix(tail, tailSize)
	return last, output.Truncated() || len(last) < len(tail)
}
