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

// Outcome is the exit code and the output of a command that has ended.
type Outcome struct {
	Code           int // exit code; -1 if a signal has ended the command
	Stdout, Stderr string
	Took           time.Duration
}

// String formats the outcome for a failure message.
func (o Outcome) String() string {
	return fmt.Sprintf("exit code %d after %v\nstdout: %s\nstderr: %s", o.Code, o.Took.Round(time.Millisecond), o.Stdout, o.Stderr)
}

// Command is a running raymond process.
type Command struct {
	t              testing.TB
	Cmd            *exec.Cmd
	Began          time.Time
	stdout, stderr bytes.Buffer
	Done           chan struct{} // closed when it has ended
	took           time.Duration
}

// Begin starts cmd and collects its output; cmd.Stdout and cmd.Stderr must be unset.
func Begin(t testing.TB, cmd *exec.Cmd) *Command {
	t.Helper()
	j := &Command{t: t, Cmd: cmd, Done: make(chan struct{})}
	j.Cmd.Stdout, j.Cmd.Stderr = &j.stdout, &j.stderr
	// Children of a killed orchestrator may hold its pipes open. Cmd.Wait waits at most a second for them.
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

// Wait waits for the command to end and returns its outcome. After two times Patience it kills the
// command and fails the test.
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

// Until waits until the condition is true. The test fails if the command ends before.
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

// Signal sends a signal to the orchestrator, not to its children.
func (j *Command) Signal(sig os.Signal) {
	j.t.Helper()
	assert.Check(j.t, j.Cmd.Process.Signal(sig), "signal %v", sig)
}

// Kill kills the orchestrator, not its children, and waits until it has ended.
func (j *Command) Kill() {
	j.t.Helper()
	j.Signal(os.Kill)
	<-j.Done
}

// Eventually polls a condition and fails the test if it is still false after Patience.
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

// Exists reports whether a file or directory exists at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
