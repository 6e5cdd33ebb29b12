//go:build linux

package action_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	untrusted "github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// bash runs scripts and done_when commands without a cage. For a script that calls late, the
// deadline of the step has passed when its state ends.
type bash struct {
	shell.Verifier
	env  []string
	step *running

	trusted []string // the environment of trusted scripts
}

// Run implements runner.Backend.
func (b *bash) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	env := b.env
	if o.Script.IsTrusted {
		env = b.trusted
	}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("timed out after %v", o.Timeout))
		defer cancel()
	}
	text, err := os.ReadFile(o.Script.Path)
	if err != nil {
		return runner.Answer{Process: state.Process{ExitCode: -1}}, &runner.Failure{Class: runner.Fatal, Message: err.Error()}
	}
	var stdout, stderr bytes.Buffer
	code, ended := b.bash(ctx, script{string(text), o.Dir, slices.Concat(env, o.Env), &stdout, &stderr})
	a := runner.Answer{Text: stdout.String(), Process: state.Process{ExitCode: code}}
	a.Script.StdoutTail, a.Script.StderrTail = hidden(o, stdout.String()), hidden(o, stderr.String())
	for _, out := range [][2]string{{"stdout", a.Script.StdoutTail}, {"stderr", a.Script.StderrTail}} {
		tellLines(tell, out[1])
		if said := strings.TrimSpace(out[1]); said != "" {
			a.Script.TailLine += "; " + out[0] + ": " + untrusted.Escape(said)
		}
	}
	switch {
	case ended == nil && code == 0:
		return a, nil
	case ended == nil:
		return a, &runner.Failure{Class: runner.Fatal, Message: fmt.Sprintf("exit code %d%s", code, a.Script.TailLine)}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return a, &runner.Failure{Class: runner.Fatal, Message: ended.Error()}
	}
	return a, &runner.Failure{Class: runner.Stopped, Message: "stopped: " + ended.Error()}
}

// Verify implements runner.Verifier.
func (b *bash) Verify(ctx context.Context, c runner.Order, _ func(runner.Progress)) (v state.Verification) {
	for _, cmd := range c.Commands {
		var out bytes.Buffer
		code, ended := b.bash(ctx, script{cmd, c.Dir, slices.Concat(b.env, c.Env), &out, &out})
		if ended != nil {
			return state.Verification{Stopped: ended.Error()}
		}
		v.Results = append(v.Results, state.CommandResult{Cmd: cmd, RC: code, Tail: out.String()})
	}
	return v
}

// script is a script with its environment and output streams.
type script struct {
	text, dir      string
	env            []string
	stdout, stderr io.Writer
}

// bash runs a script. ended is the reason why it was stopped, or nil.
func (b *bash) bash(ctx context.Context, s script) (code int, ended error) {
	ctx, end := b.step.acting(ctx)
	defer end()
	cmd := exec.CommandContext(ctx, "bash", "-c", fmt.Sprintf("late() { : >'%s'; }\n%s", b.step.late, s.text))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.dir, s.env, s.stdout, s.stderr, time.Second
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(s.stderr, err)
		return -1, context.Cause(ctx)
	}
	return cmd.ProcessState.ExitCode(), context.Cause(ctx)
}

// hidden returns a text with the secrets hidden as the order requires.
func hidden(o runner.Order, text string) string {
	if o.Hide == nil {
		return text
	}
	return o.Hide(text)
}

// tellLines reports each line of a text as progress.
func tellLines(tell func(runner.Progress), said string) {
	for line := range strings.Lines(said) {
		tell(runner.Progress{Text: untrusted.Escape(strings.TrimSuffix(line, "\n"))})
	}
}
