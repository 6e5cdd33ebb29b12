package gemini

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// TestInvalidLockIsRemoved checks that prepare removes a lock that isn't a folder, since the CLI
// would wait for it forever. It also checks that prepare replaces projects.json with a link to a
// file that the CLI can write in a cage.
func TestInvalidLockIsRemoved(t *testing.T) {
	h := home{t.TempDir()}
	lock := h.cliPath("tmp", "projects.json.lock")
	assert.NilError(t, os.MkdirAll(filepath.Dir(lock), 0o700))
	assert.NilError(t, os.WriteFile(lock, nil, 0o600))
	assert.NilError(t, os.WriteFile(h.cliPath("projects.json"), []byte(`{"projects": {}}`), 0o600))
	_, err := h.prepare(t.TempDir())
	assert.NilError(t, err)
	assert.Check(t, !exists(lock), "a lock that is no folder: got it left")
	got, err := os.Readlink(h.cliPath("projects.json"))
	assert.Check(t, err == nil && got == filepath.Join("tmp", "projects.json"), "list of directories: got a link to %q, %v", got, err)
	assert.NilError(t, os.Mkdir(lock, 0o700)) // a running CLI creates its lock like this
	if _, err := h.prepare(t.TempDir()); err != nil || !exists(lock) {
		t.Errorf("a new lock: got it removed (%v)", err)
	}
}

// TestVersionCheckKeepsTheHome checks that a CLI that only prints its version uses another home,
// and does not trust the checkout. That CLI replaces projects.json before it exits, and a run may
// just have started another CLI that needs the file.
func TestVersionCheckKeepsTheHome(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	path := filepath.Join(t.TempDir(), "gemini")
	installtest.WriteProgram(t, path, `#!/bin/sh
		mkdir -p "$GEMINI_CLI_HOME/.gemini" && cd "$GEMINI_CLI_HOME/.gemini" &&
		echo '{"projects": {}}' > new && mv -f new projects.json && [ "$GEMINI_CLI_TRUST_WORKSPACE" = false ] && echo 0.61.0`)
	b := &Backend{CLI: program.CLI{Path: path, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}}
	h := b.home()
	_, err := h.prepare(dir)
	assert.NilError(t, err)
	_, fail := b.Find(t.Context(), b.Source(), runner.Order{Dir: dir, Mark: "x"}, func(string) {})
	assert.Assert(t, is.Nil(fail))
	got, err := os.Readlink(h.cliPath("projects.json"))
	assert.Check(t, err == nil && got == filepath.Join("tmp", "projects.json"), "list of directories: got a link to %q, %v, want one to where it can be written in a cage", got, err)
}
