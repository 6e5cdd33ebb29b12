package proc

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// runCaged runs a bash script in a cage that may write to dir. It fails the test if processes of the
// cage are left.
func runCaged(t *testing.T, dir, script string) (exit Exit, output string) {
	t.Helper()
	var out strings.Builder
	exit, err := Run(context.Background(), Options{
		Path: "bash", Args: []string{"-c", script}, Dir: dir, Env: os.Environ(), Mark: t.Name() + ".1", Stdout: &out,
		Cage: cage.New(cage.Policy{Writable: []string{dir, os.DevNull}, Network: cage.Network{IsOpen: true}}),
	})
	assert.NilError(t, err)
	findInCages(func(m uint64) bool { return m == cage.Mark(t.Name()+".1") }, func(p processes.Process) { t.Errorf("left: got %v, want none", p) })
	assert.Check(t, is.Equal(exit.Survivors, 0), "left")
	return exit, out.String()
}

// TestDescendantsCantLeaveACage checks that a descendant of a caged child is ended with the child, even
// if it starts a new session, forks twice and clears its environment.
func TestDescendantsCantLeaveACage(t *testing.T) {
	dir := t.TempDir()
	exit, _ := runCaged(t, dir, `(setsid env -i /bin/bash -c '(echo $BASHPID > new; mv new pid; exec /bin/sleep 1000) &' &)
		until [ -e pid ]; do :; done`)
	assert.Check(t, is.Equal(exit.Code, 0))
	assert.Check(t, exit.Swept != 0, "got %+v, want what was left to be ended", exit)
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	assert.NilError(t, err)
	_, err = os.Stat("/proc/" + strings.TrimSpace(string(pid)))
	assert.Check(t, is.ErrorIs(err, fs.ErrNotExist), "process %s", pid)
}

// TestForkingProcessesAreEnded checks that processes that stay alive by forking all the time are ended. The
// cases have one or many such processes, in one session or each in its own session, with and without a
// cage. If processes survive, their last generation writes a file. The number of generations is limited, so
// that a failing test can't fill the machine with processes.
func TestForkingProcessesAreEnded(t *testing.T) {
	const begin = `roll() { if [ $1 -gt 0 ]; then roll $(($1-1)) & else echo > outlived; fi; exit; }; ` +
		`grow() { if [ $1 -gt 0 ]; then grow $(($1-1)) & grow $(($1-1)) & exit; fi; roll 1000; }; ` +
		`leave() { if [ $1 -gt 0 ]; then setsid bash -c "leave $(($1-1))" & else echo > outlived; fi; exit; }; export -f roll grow leave; `
	for name, script := range map[string]string{
		"one":      "setsid bash -c 'roll 5000' &",
		"many":     "setsid bash -c 'grow 3' &",
		"stay":     "grow 3 &",
		"sessions": "leave 500 & leave 500 &",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			runCaged(t, dir, begin+script)
			exit, err := Run(context.Background(), Options{
				Path: "bash", Args: []string{"-c", begin + script}, Dir: dir, Env: os.Environ(), Mark: t.Name() + ".1",
			})
			assert.Check(t, err, "without a cage")
			assert.Check(t, is.Equal(exit.Survivors, 0), "without a cage")
			wantNoStrays(t, name)
			_, err = os.Stat(filepath.Join(dir, "outlived"))
			assert.Check(t, is.ErrorIs(err, fs.ErrNotExist), "the last of the processes")
		})
	}
}
