package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
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
	out := state.CommandResult{Cmd: cmd, RC: exit.Code, DurationS: took.Seconds()}
	switch {
	case err != nil:
		out.RC = codeNotFound
	case exit.Ended == proc.ByTimeout:
		out.RC = codeTimeout
	case exit.SignalNumber() > 0:
		out.RC = codeSignal + exit.SignalNumber()
	}
	if out.RC != 0 {
		out.Tail, out.Truncated = end(tail, v.Env, secrets.NewRedactor(v.Env).Text)
	}
	fmt.Fprintf(log, "rc: %d (%.1fs)\n", out.RC, out.DurationS)
	return out
}

// maxLogged is the largest number of bytes of a command's output that are logged.
const maxLogged = 8 << 20

// openLog creates the log of an attempt. It renames an existing log to the next free name with .1,
// .2, …. If something fails, it returns nil, and writing to the log does nothing, because the
// verdict must not depend on the log.
func openLog(c runner.Order) *os.File {
	if os.MkdirAll(filepath.Dir(c.LogFile), 0o700) != nil {
		return nil
	}
	for n := 1; ; n++ {
		next := fmt.Sprintf("%s.%d", c.LogFile, n)
		if _, err := os.Lstat(next); err == nil {
			continue
		}
		if err := files.Rename(c.LogFile, next); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		break
	}
	f, _, err := files.OpenFile(c.LogFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil
	}
	fmt.Fprintf(f, "attempt %d\nagent exit code: %d\n", c.Attempt, c.AgentCode)
	return f
}
