// Package shell runs scripts and commands: those of script states, where a script is one
// process and its stdout the message, and those that decide whether an attempt of a
// state is done, with a watch on the files that must not change meanwhile.
//
// It knows how scripts are started on each system and which failures are their own.
// It knows nothing of tags and transitions: what a message means, and what a verdict
// leads to, is decided by others.
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

// MaxMessage is how many bytes a script may write to stdout. One that writes
// more is ended at once.
const MaxMessage = 10 << 20

// maxLine is how much of a line of output is read to be told. Of a longer one the first
// half of that is told at most: what stands at the cut may be half a secret.
const maxLine = 64 << 10

// Backend runs scripts. It implements runner.Backend, and may be used by many
// goroutines.
type Backend struct {
	// Env is the environment of scripts, Trusted that of those that are trusted, besides what
	// the Order adds.
	Env, Trusted []string
}

var _ runner.Backend = Backend{}

// Run implements runner.Backend for orders of kind script. Answer.Text is what
// the script wrote to stdout, also when it failed. A script that does not exit
// with code 0, or is ended for its timeouts or for too long a message, is a Fatal
// failure whose message has the exit code or signal and the ends of its outputs.
// The lines of both are told as they come, whatever the Telling.
func (b Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	options, failure := b.options(o)
	if failure != nil {
		return runner.Answer{Process: state.Process{ExitCode: -1}}, failure
	}
	said, stdout, stderr := &message{}, newTail(), newTail()
	live := [2]proc.Lines{} // each is written to by a goroutine of its own
	for i := range live {
		live[i] = proc.Lines{Max: maxLine, Line: func(line []byte, truncated bool) {
			tell(runner.Progress{Text: shown(o, string(line), truncated)})
		}}
	}
	options.Stdout, options.Stderr = io.MultiWriter(said, stdout, &live[0]), io.MultiWriter(stderr, &live[1])
	options.DebugDir, options.DebugStdout = o.DebugDir, ".txt"
	exit, err := proc.Run(ctx, options)
	live[0].Flush()
	live[1].Flush()
	answer := runner.Answer{Text: said.String(), Process: state.Process{ExitCode: exit.Code, Signal: exit.Signal}, Notes: exit.LeftoverNotes("script")}
	env := slices.Concat(b.Env, b.Trusted)
	answer.Script.StdoutTail, _ = end(stdout, env, o.Hide)
	answer.Script.StderrTail, _ = end(stderr, env, o.Hide)
	answer.Script.TailLine = lastWords(answer.Script.StdoutTail, answer.Script.StderrTail)
	if err != nil {
		return answer, notStarted(o, err)
	}
	if failure := diagnose(o, exit, context.Cause(ctx), answer.Script.TailLine); failure != nil {
		return answer, failure
	}
	return answer, nil
}

// shown is a line of output as it is told.
func shown(o runner.Order, line string, truncated bool) string {
	if o.Hide != nil {
		line = o.Hide(line)
	}
	if truncated {
		line = line[:max(0, len(line)-maxLine/2)]
	}
	return text.Escape(strings.TrimSuffix(line, "\r"))
}

// options says how the script of an order is started.
func (b Backend) options(o runner.Order) (proc.Options, *runner.Failure) {
	script, _, err := files.Open(o.Script.Path) // an agent may have put a pipe there, for which the shell would wait
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
			env = append(slices.Clone(env), seenPath(env, o.Cage.Policy().Hidden))
		}
	}
	how.Dir, how.Env = o.Dir, append(env[:len(env):len(env)], o.Env...)
	how.Mark, how.Cage = o.Mark, o.Cage
	how.Timeout, how.Idle = o.Timeout, o.Idle
	how.InterruptGroup = true // bash waits for the command it runs before it looks at a signal
	how.DeathSignal = syscall.SIGTERM
	return how, nil
}

// seenPath is the PATH of an environment without the folders that are hidden: what a shell finds there it can't start,
// and it looks no further.
func seenPath(env, hidden []string) string {
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

// message collects stdout.
type message struct{ strings.Builder }

// Write implements io.Writer. It fails when the message gets longer than
// MaxMessage, and keeps what fits.
func (m *message) Write(p []byte) (int, error) {
	n, _ := m.Builder.Write(p[:min(len(p), MaxMessage-m.Len())])
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
