package acttest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

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
