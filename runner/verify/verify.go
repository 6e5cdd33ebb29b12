// Package verify runs the commands that decide whether an attempt of a state is
// done, and watches the files that must not change meanwhile.
//
// It knows processes and files, and nothing of agents or transitions: what a
// verdict leads to is decided by others.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// tailSize is how many of the last bytes of a failed command's output are kept.
const tailSize = 4096

// slack is kept before the tail, so that a secret at its edge is whole when it
// is looked for.
const slack = 4096

// Exit codes of commands that had none of their own, as shells give them.
const (
	codeTimeout  = 124
	codeNotFound = 127
	codeSignal   = 128
)

// Verifier implements runner.Verifier.
type Verifier struct {
	// Env is the environment of agents and scripts. Commands get it without the
	// variables that hold secrets.
	Env []string
}

var _ runner.Verifier = Verifier{}

// Verify implements runner.Verifier.
func (v Verifier) Verify(ctx context.Context, c runner.Checks) state.Verification {
	log := openLog(c)
	defer log.Close()
	redact := proc.Redactor(v.Env)
	var out state.Verification
	for _, cmd := range c.Commands {
		r := v.command(ctx, c, cmd, log)
		if cause := stopped(ctx); cause != "" {
			log.printf("stopped: %s\n", cause)
			return state.Verification{Stopped: cause}
		}
		r.Tail = redact(r.Tail)
		if r.Tail != "" {
			r.Tail = lastBytes(r.Tail, tailSize)
		}
		out.Results = append(out.Results, r)
	}
	if len(c.Protect) > 0 {
		out.Changed = changed(c.Protected, v.Digest(c.Dir, c.Protect))
	}
	log.verdict(out)
	return out
}

// stopped says why the run ends commands, or "".
func stopped(ctx context.Context) string {
	if cause := context.Cause(ctx); cause != nil {
		return cause.Error()
	}
	return ""
}

// command runs one command.
func (v Verifier) command(ctx context.Context, c runner.Checks, cmd string, log *logFile) state.CommandResult {
	tail := &proc.Tail{Max: tailSize + slack}
	count := &counter{}
	log.printf("\n$ %s\n", cmd)
	spec := proc.Spec{
		Path: "/bin/bash", Args: []string{"-c", cmd}, Dir: c.Dir,
		Env:     append(proc.WithoutSecrets(v.Env), c.Env...),
		MarkVar: runner.MarkVar, Mark: c.Mark, Timeout: c.Timeout,
		Stdout: io.MultiWriter(tail, count, log.bounded()), MergeStderr: true,
		InterruptGroup: true, DeathSignal: syscall.SIGTERM,
		Ladder:   proc.Ladder{Term: time.Second, Kill: time.Second},
		LadderOf: ladderOf,
	}
	started := time.Now()
	exit, err := proc.Run(ctx, spec)
	r := state.CommandResult{Cmd: cmd, RC: code(exit, err), DurationS: time.Since(started).Round(time.Millisecond).Seconds()}
	if err != nil {
		log.printf("%v\n", err)
		r.Tail = err.Error()
	}
	if r.RC != 0 && err == nil {
		r.Tail, r.Truncated = string(tail.Bytes()), count.n > tailSize
	}
	log.printf("rc: %d (%.1fs)\n", r.RC, r.DurationS)
	return r
}

// code is the exit code that a shell would tell.
func code(exit proc.Exit, err error) int {
	switch {
	case err != nil:
		return codeNotFound
	case exit.Ended == proc.ByTimeout:
		return codeTimeout
	case exit.SignalNumber() > 0:
		return codeSignal + exit.SignalNumber()
	}
	return exit.Code
}

// counter counts what is written.
type counter struct{ n int64 }

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func ladderOf(cause error) proc.Ladder {
	var s *runner.Stopping
	if !errors.As(cause, &s) {
		return proc.Ladder{}
	}
	return proc.Ladder{Term: s.Term, Kill: s.Kill}
}

// lastBytes returns the last bytes of s as valid UTF-8, at most limit.
func lastBytes(s string, limit int) string {
	t := &proc.Tail{Max: limit}
	fmt.Fprint(t, s)
	return string(t.Bytes())
}
