package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// Exit codes, as shells report them, of commands that did not exit by themselves.
const (
	codeTimeout  = 124
	codeNotFound = 127
	codeSignal   = 128
)

// Verifier implements runner.Verifier.
type Verifier struct {
	// Env is the environment of agents and scripts. Commands get it without the variables that
	// contain secrets.
	Env []string
	// NoNewPrivs keeps commands from gaining privileges, for example with sudo. It has an effect
	// on Linux only.
	NoNewPrivs bool
}

var _ runner.Verifier = Verifier{}

// Ready implements runner.Verifier.
func (v Verifier) Ready() error {
	_, err := Bash()
	return err
}

// Bash returns the path of the shell that runs commands. The error explains how to install it.
func Bash() (string, error) { return proc.Bash() }

// Verify implements runner.Verifier. It logs each command and the verdict.
func (v Verifier) Verify(ctx context.Context, c runner.Order, report func(runner.Progress)) state.Verification {
	log := openLog(c)
	defer log.Close()
	var out state.Verification
	for _, cmd := range c.Commands {
		report(runner.Progress{Activity: "checking " + cmd})
		r := v.command(ctx, c, cmd, log)
		if path := cage.DeniedPath(r.Tail); path != "" && c.Cage != nil {
			report(runner.Progress{Refused: path})
		}
		if cause := context.Cause(ctx); cause != nil {
			fmt.Fprintf(log, "stopped: %v\n", cause)
			return state.Verification{Stopped: cause.Error()}
		}
		out.Results = append(out.Results, r)
	}
	if len(c.Protect) > 0 {
		out.Changed, out.Lost = restore(c)
	}
	for _, name := range out.Changed {
		fmt.Fprintf(log, "protected file changed: %s\n", name)
	}
	if c.Refused != "" {
		fmt.Fprintf(log, "no transition: %s\n", c.Refused)
	}
	verdict := "passed"
	if len(out.Changed) > 0 || c.Refused != "" || slices.ContainsFunc(out.Results, func(r state.CommandResult) bool { return r.RC != 0 }) {
		verdict = "failed"
	}
	fmt.Fprintf(log, "\nverdict: %s\n", verdict)
	return out
}

// command runs one command and logs its output.
func (v Verifier) command(ctx context.Context, c runner.Order, cmd string, log *os.File) state.CommandResult {
	tail := newTail()
	fmt.Fprintf(log, "\n$ %s\n", cmd)
	bash, _ := Bash() // without bash, nothing starts and proc.Run returns the error
	options := proc.Options{
		Path: bash, Args: []string{"-c", cmd}, Dir: c.Dir,
		Env:  append(secrets.Strip(v.Env), c.Env...),
		Mark: c.Mark, Timeout: c.Timeout,
		Stdout: io.MultiWriter(tail, &proc.CappedWriter{W: log, Room: maxLogged}), MergeStderr: true,
		InterruptGroup: true, DeathSignal: syscall.SIGTERM, NoNewPrivs: v.NoNewPrivs, Cage: c.Cage,
		Ladder: proc.Ladder{Term: time.Second, Kill: time.Second},
	}
	started := time.Now()
	exit, err := proc.Run(ctx, options)
	took := time.Since(started).Round(time.Millisecond)
	if err != nil {
		fmt.Fprint(tail, err)
		fmt.Fprintln(log, err)
	}
	out := state.CommandResult{Cmd: cmd, RC: code(exit, err), DurationS: took.Seconds()}
	if out.RC != 0 {
		out.Tail, out.Truncated = end(tail, v.Env, secrets.NewRedactor(v.Env).Text)
	}
	fmt.Fprintf(log, "rc: %d (%.1fs)\n", out.RC, out.DurationS)
	return out
}

// code returns the exit code that a shell would report for a command.
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
