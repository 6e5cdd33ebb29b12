//go:build linux && world

package acttest

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// markVar is set for everything that runs on a machine, to its folder. The
// folder is also in HOME, which is passed on where other variables are not.
const markVar = "ACTTEST"

// limit is how long a run may take.
const limit = 5 * time.Minute

// Run makes the event happen and waits for the end of all its jobs. It ends the
// test when act can't be started, and fails it when the limit is reached.
func Run(t testing.TB, c Config) *Result {
	t.Helper()
	act, m := Install(t), newMachine(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, act, m.args(c)...)
	cmd.Dir, cmd.Env = c.Repo, m.environ(c)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // with the test program
	// What a killed act leaves behind may hold its pipes open.
	cmd.WaitDelay = time.Second
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	m.kill()
	res := newResult(out.Bytes(), stderr.String())
	var failed *exec.ExitError // the steps say what there is to say
	if ctx.Err() != nil || err != nil && !errors.As(err, &failed) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("act: got no end within %v: %v\n%v", limit, err, res)
	}
	if strings.Contains(res.act, "Skipping unsupported platform") {
		t.Errorf("act: a job's runs-on is none of %q, and it was left out", labels)
	}
	return res
}
