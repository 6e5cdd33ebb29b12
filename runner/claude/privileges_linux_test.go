package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"gotest.tools/v3/assert"
)

// TestCLICantGainPrivileges checks that NoNewPrivs applies to the version check and to the invocation,
// and only if it is set.
func TestCLICantGainPrivileges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cli := filepath.Join(dir, "claude")
	installtest.WriteProgram(t, cli, `#!/bin/sh
		sed -n 's/^NoNewPrivs:[[:space:]]*//p' /proc/self/status >>"$NOTES"
		if [ "$1" = --version ]; then echo 2.1.330; exit; fi
		echo '{"type":"result","subtype":"success","is_error":false,"result":"hi"}'
	`)
	for bound, want := range map[bool]string{true: "1 1", false: "0 0"} {
		notes := filepath.Join(dir, "notes "+want)
		b := &Backend{CLI: program.CLI{Path: cli, Env: []string{"PATH=/usr/bin:/bin", "NOTES=" + notes}, NoNewPrivs: bound}}
		_, f, _ := run(t.Context(), t, b, order(t, "hello"))
		got, err := os.ReadFile(notes)
		assert.Check(t, f == nil && err == nil && strings.Join(strings.Fields(string(got)), " ") == want, "bound %v: got %q, %v, %v, want %q", bound, got, f, err, want)
	}
}
