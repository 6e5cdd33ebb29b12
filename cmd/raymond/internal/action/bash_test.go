//go:build linux

package action_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	untrusted "github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// bash runs scripts and done_when commands in the process of the test: the language by a
// library, and of programs git alone.
type bash struct {
	j    *bareJob
	env  []string
	step *running

	trusted []string // the environment of trusted scripts
}

// Run implements runner.Backend.
func (b *bash) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	ctx, end := b.step.acting(ctx)
	defer end()
	text, err := os.ReadFile(o.Script.Path)
	if err != nil {
		return runner.Answer{ExitCode: -1}, &runner.Failure{Class: runner.Fatal, Message: err.Error()}
	}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
		defer cancel()
	}
	if o.Script.IsTrusted {
		with := *b
		with.env = b.trusted
		b = &with
	}
	stdout, stderr := &told{order: o, tell: tell}, &told{order: o, tell: tell}
	code := b.interpret(ctx, script{string(text), o.Dir, o.Env, stdout, stderr})
	stdout.flush()
	stderr.flush()
	a := runner.Answer{Text: stdout.text.String(), ExitCode: code}
	hide := o.Hide
	if hide == nil {
		hide = func(text string) string { return text }
	}
	a.Script.StdoutTail, a.Script.StderrTail = hide(stdout.text.String()), hide(stderr.text.String())
	for _, out := range [][2]string{{"stdout", a.Script.StdoutTail}, {"stderr", a.Script.StderrTail}} {
		if said := strings.TrimSpace(out[1]); said != "" {
			a.Script.LastWords += "; " + out[0] + ": " + untrusted.Escaped(said)
		}
	}
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return a, &runner.Failure{Class: runner.Fatal, Message: fmt.Sprintf("timed out after %v", o.Timeout)}
	case ctx.Err() != nil:
		return a, &runner.Failure{Class: runner.Stopped, Message: "stopped: " + context.Cause(ctx).Error()}
	case code != 0:
		return a, &runner.Failure{Class: runner.Fatal, Message: fmt.Sprintf("exit code %d%s", code, a.Script.LastWords)}
	}
	return a, nil
}

var errTimeout = errors.New("timed out")

// Verify implements runner.Verifier.
func (b *bash) Verify(ctx context.Context, c runner.Checks, _ func(runner.Progress)) (v state.Verification) {
	ctx, end := b.step.acting(ctx)
	defer end()
	for _, cmd := range c.Commands {
		var out bytes.Buffer
		code := b.interpret(ctx, script{cmd, c.Dir, c.Env, &out, &out})
		if ctx.Err() != nil {
			return state.Verification{Stopped: context.Cause(ctx).Error()}
		}
		v.Results = append(v.Results, state.CommandResult{Cmd: cmd, RC: code, Tail: out.String()})
	}
	return v
}

// Ready implements runner.Verifier.
func (b *bash) Ready() error { return nil }

// Keep implements runner.Verifier.
func (b *bash) Keep(dir string, patterns []string, copies string) map[string]string {
	return shell.Verifier{}.Keep(dir, patterns, copies)
}

// script is what bash interprets.
type script struct {
	text, dir      string
	env            []string // besides that of all scripts
	stdout, stderr io.Writer
}

func (b *bash) interpret(ctx context.Context, s script) (code int) {
	file, err := syntax.NewParser().Parse(strings.NewReader(s.text), "")
	if err != nil {
		fmt.Fprintln(s.stderr, err)
		return 2
	}
	r, err := interp.New(interp.Env(expand.ListEnviron(slices.Concat(b.env, s.env)...)), interp.Dir(s.dir),
		interp.StdIO(nil, s.stdout, s.stderr), interp.ExecHandlers(b.programs), interp.OpenHandler(open))
	if err == nil {
		err = r.Run(ctx, file)
	}
	var exit interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintln(s.stderr, err)
	return 1
}

// appended is a file whose lines come all at once: scripts that run at the same time write to it.
type appended struct {
	bytes.Buffer
	path string
}

// Close implements io.Closer.
func (a *appended) Close() error {
	f, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(a.Bytes())
	return errors.Join(err, f.Close())
}

// open opens a file for a script.
func open(ctx context.Context, path string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(interp.HandlerCtx(ctx).Dir, path)
	}
	if flag&os.O_APPEND != 0 {
		return &appended{path: path}, nil
	}
	return os.OpenFile(path, flag, perm)
}

// programs are those that scripts may start: git, and what the test names. All others are
// functions.
func (b *bash) programs(start interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		h := interp.HandlerCtx(ctx)
		path := func(name string) string {
			if filepath.IsAbs(name) {
				return name
			}
			return filepath.Join(h.Dir, name)
		}
		var err error
		if args[0] == "git" || slices.Contains(b.j.programs, args[0]) {
			return start(ctx, args)
		}
		switch args[0] {
		case "late": // the deadline of the step has come when this state ends
			b.step.late.Store(int64(deadline))
		case "sleep":
			return sleep(ctx, args[1])
		case "cat":
			if len(args) == 1 {
				_, err = io.Copy(h.Stdout, h.Stdin)
			}
			for _, name := range args[1:] {
				var data []byte
				data, err = os.ReadFile(path(name))
				_, _ = h.Stdout.Write(data)
			}
		case "touch":
			err = os.WriteFile(path(args[1]), nil, 0o600)
		case "chmod":
			err = os.Chmod(path(args[2]), 0o755)
		default:
			b.j.T.Errorf("a script starts %q: a test in one process has no such program", args)
			return interp.ExitStatus(127)
		}
		if err != nil {
			fmt.Fprintln(h.Stderr, err)
			return interp.ExitStatus(1)
		}
		return nil
	}
}

// sleep waits some seconds.
func sleep(ctx context.Context, seconds string) error {
	d, err := time.ParseDuration(seconds + "s")
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// told is an output of which each line is told.
type told struct {
	text  bytes.Buffer
	order runner.Order
	tell  func(runner.Progress)
	from  int // where the line begins that has not ended
}

// Write implements io.Writer.
func (w *told) Write(p []byte) (int, error) {
	w.text.Write(p)
	for {
		line, _, ended := bytes.Cut(w.text.Bytes()[w.from:], []byte("\n"))
		if !ended {
			return len(p), nil
		}
		w.from += len(line) + 1
		w.line(string(line))
	}
}

// flush tells the last line.
func (w *told) flush() {
	if rest := w.text.String()[w.from:]; rest != "" {
		w.line(rest)
	}
}

func (w *told) line(line string) {
	if w.order.Hide != nil {
		line = w.order.Hide(line)
	}
	w.tell(runner.Progress{Text: untrusted.Escaped(line)})
}
