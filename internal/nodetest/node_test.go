package nodetest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/nodetest"
)

func TestPinnedNodeHasExecve(t *testing.T) {
	node := nodetest.Install(t)
	out, err := exec.CommandContext(t.Context(), node, "-p", "process.version + ' ' + typeof process.execve").CombinedOutput()
	got := strings.TrimSpace(string(out))
	if err != nil || !strings.HasPrefix(got, "v24.") || !strings.HasSuffix(got, " function") {
		t.Errorf("version and execve of %s: got %q, %v, want v24 and a function", node, got, err)
	}
}
