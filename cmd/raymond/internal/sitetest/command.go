package sitetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// Outcome is how a command ended.
type Outcome struct {
	Code           int // -1: a signal ended it
	Stdout, Stderr string
	Took           time.Duration
}

// String shows an outcome in a failure.
func (o Outcome) String() string {
	return fmt.Sprintf("exit code %d after %v\nstdout: %s\nstderr: %s", o.Code, o.Took.Round(time.Millisecond), o.Stdout, o.Stderr)
}

// Command is a raymond that was started.
type Command struct {
	t              testing.TB
	Cmd            *exec.Cmd
	Began          time.Time
	stdout, stderr bytes.Buffer
	Done           chan struct{} // closed when it has ended
	took           time.Duration
}

// Begin starts a command whose output nobody has taken.
func Begin(t testing.TB, cmd *exec.Cmd) *Command {
	t.Helper()
	j := &Command{t: t, Cmd: cmd, Done: make(chan struct{})}
	j.Cmd.Stdout, j.Cmd.Stderr = &j.stdout, &j.stderr
	// What an orchestrator that was killed leaves may hold its pipes open.
	j.Cmd.WaitDelay = time.Second
	j.Began = time.Now()
	assert.NilError(t, j.Cmd.Start())
	go func() {
		_ = j.Cmd.Wait()
		j.took = time.Since(j.Began)
		close(j.Done)
	}()
	return j
}

// Wait returns how the command ended.
func (j *Command) Wait() Outcome {
	j.t.Helper()
	select {
	case <-j.Done:
	case <-time.After(2 * Patience):
		_ = j.Cmd.Process.Kill()
		<-j.Done
		j.t.Errorf("raymond %q: got no end, want one within %v\nstderr: %s", j.Cmd.Args[1:], 2*Patience, j.stderr.String())
	}
	return Outcome{j.Cmd.ProcessState.ExitCode(), j.stdout.String(), j.stderr.String(), j.took}
}

// Until waits for a condition that the running command brings about.
func (j *Command) Until(what string, cond func() bool) {
	j.t.Helper()
	Eventually(j.t, what, func() bool { return cond() || j.HasEnded() })
	if j.HasEnded() && !cond() {
		j.t.Fatalf("%s: the command ended before\n%v", what, j.Wait())
	}
}

// HasEnded reports whether the command has ended.
func (j *Command) HasEnded() bool {
	select {
	case <-j.Done:
		return true
	default:
		return false
	}
}

// Signal sends a signal to the orchestrator alone.
func (j *Command) Signal(sig os.Signal) {
	j.t.Helper()
	assert.Check(j.t, j.Cmd.Process.Signal(sig), "signal %v", sig)
}

// Kill ends the orchestrator alone, and returns when it is gone.
func (j *Command) Kill() {
	j.t.Helper()
	j.Signal(os.Kill)
	<-j.Done
}

// Eventually waits for a condition.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	giveUp := time.After(Patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-giveUp:
			t.Fatalf("%s: got nothing within %v", what, Patience)
		}
	}
}

// Exists says whether there is anything at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
