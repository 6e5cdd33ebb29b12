//go:build unix

package action

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/claude"
)

// npm creates a stand-in for npm that runs a script, and returns an installation that finds it.
func npm(t *testing.T, script string) installation {
	t.Helper()
	bin := t.TempDir()
	installtest.WriteProgram(t, filepath.Join(bin, "npm"), "#!/bin/bash\n"+script)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return installation{pin: claude.Pin, cache: t.TempDir(), env: os.Environ()}
}

// TestInstallationIsLogged checks that the start, the end and the duration of an installation are
// logged. If the CLI is installed already, Install logs nothing.
func TestInstallationIsLogged(t *testing.T) {
	c := npm(t, `mkdir -p node_modules/@anthropic-ai/claude-code-x && touch node_modules/@anthropic-ai/claude-code-x/claude`)
	var said []string
	say := func(line string) { said = append(said, line) }
	for range 2 {
		_, err := c.Install(t.Context(), say)
		assert.NilError(t, err)
	}
	want := regexp.MustCompile(`^installing Claude Code \d+\.\d+\.\d+ with npm, .*\ninstalled Claude Code \d+\.\d+\.\d+ in \d+\.\d s$`)
	got := strings.Join(said, "\n")
	assert.Check(t, want.MatchString(got), "said\n%s\nwant %s", got, want)
}

// TestInstallationFailsWithNpmsReason checks that the error has npm's code and reason, without the
// location of its log file.
func TestInstallationFailsWithNpmsReason(t *testing.T) {
	failing := npm(t, "cat >&2 <<'E'\nnpm warn deprecated x\nnpm error code E404\nnpm error 404 Not Found - GET https://registry.example/claude\n"+
		"npm error \nnpm error A complete log of this run can be found in: /root/.npm/_logs/x.log\nE\nexit 1")
	_, err := failing.Install(t.Context(), func(string) {})
	assert.Assert(t, err != nil, "got %v, want code and reason", err)
	assert.Check(t, strings.HasSuffix(err.Error(), ": exit status 1: code E404; 404 Not Found - GET https://registry.example/claude"), "got %v, want code and reason", err)
	c := npm(t, "echo one line; exit 1")
	if _, err := c.Install(t.Context(), func(string) {}); err == nil || !strings.HasSuffix(err.Error(), ": one line") {
		t.Errorf("npm with words of its own: got %v, want them", err)
	}
}

// TestInstallationCanBeCancelled checks that npm is interrupted and no incomplete files are left.
func TestInstallationCanBeCancelled(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"begun", "never"} {
		assert.NilError(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	c := npm(t, fmt.Sprintf("trap 'exit 1' INT; exec 9<>%[1]s/never; echo go >%[1]s/begun; read -r -u 9", dir))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Install(ctx, func(string) {})
		done <- err
	}()
	if _, err := os.ReadFile(filepath.Join(dir, "begun")); err != nil {
		t.Fatal(err)
	}
	cancel()
	assert.Check(t, <-done != nil, "cancelled: got no error")
	left, err := filepath.Glob(filepath.Join(c.cache, "raymond-claude-code", "*", ".new-*"))
	assert.Check(t, err)
	assert.Check(t, is.Len(left, 0), "left behind: %q, %v", left, err)
}
