package acttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestSignalsCanBeSentToTheStepsProcess(t *testing.T) {
	t.Parallel()
	r, h := waiting(t, config(t, ""), "")
	pid := r.StepProcess()
	if pid != h.PID {
		t.Fatalf("process of the step: got %d, want %d", pid, h.PID)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	res := r.Wait()
	if s := res.Step("one", "said"); s.Result != "failure" || !slices.Contains(s.Log, "got SIGTERM") {
		t.Errorf("step after SIGTERM: got %v, want its words and a failure", res)
	}
	if res.Post("one", "said") == nil {
		t.Errorf("post after a failure: got none in %v", res)
	}
}

func TestCancelledRunStillRunsPost(t *testing.T) {
	t.Parallel()
	r, h := waiting(t, config(t, ""), "")
	r.Cancel()
	res := r.Wait()
	if res.Code == 0 || res.Post("one", "said") == nil || alive(h.PID) {
		t.Errorf("cancelled run: got %v, step's process alive: %t", res, alive(h.PID))
	}
}

func TestDestroyedMachineLeavesArtifactsAlone(t *testing.T) {
	t.Parallel()
	c := config(t, "")
	c.Artifacts = t.TempDir()
	kept := filepath.Join(c.Artifacts, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, h := waiting(t, c, "          leave: yes\n")
	r.Destroy()
	if alive(h.PID) {
		t.Errorf("step's process: got it alive, want nothing to outlive its machine")
	}
	if left := marked(t, h.Home); len(left) > 0 {
		t.Errorf("processes of the machine: got %v, want none", left)
	}
	if _, err := os.Stat(h.Home); !os.IsNotExist(err) {
		t.Errorf("home folder: got %v, want it gone", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("artifacts: got %v, want them kept", err)
	}
}

// TestNothingOutlivesTheTest: not even what a step has put into another session.
func TestNothingOutlivesTheTest(t *testing.T) {
	t.Parallel()
	var home string
	t.Run("inner", func(t *testing.T) {
		res := acttest.Run(t, config(t, byName+"          leave: yes\n"))
		home = res.Step("one", "said").Outputs["HOME"]
		if len(res.Left) != 1 || !strings.HasSuffix(res.Left[0], "sleep 600") {
			t.Errorf("what is left: got %q, want the process that the step left", res.Left)
		}
	})
	if left := marked(t, home); len(left) > 0 {
		t.Errorf("processes of the machine after the test: got %v, want none", left)
	}
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("home folder after the test: got %v, want it gone", err)
	}
}

// marked returns the processes with a text in their environment.
func marked(t *testing.T, text string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || text == "" {
		t.Fatalf("processes with %q: %v", text, err)
	}
	var found []string
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), text) {
			found = append(found, path)
		}
	}
	return found
}
