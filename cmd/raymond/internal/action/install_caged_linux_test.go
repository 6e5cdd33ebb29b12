package action

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestNpmIsCaged checks that npm runs in a cage, because it may be a program that agents have put
// on PATH.
func TestNpmIsCaged(t *testing.T) {
	home := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(home, "key"), []byte("key"), 0o600))
	assert.NilError(t, os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry=x"), 0o600))
	c := npm(t, `cat "$HOME/key" && exit 3; echo x >"$HOME/new" && exit 4; cat "$HOME/.npmrc" >/dev/null || exit 5; echo x >"$npm_config_cache/x" || exit 6
mkdir -p node_modules/@anthropic-ai/claude-code-x && touch node_modules/@anthropic-ai/claude-code-x/claude`)
	c.isCaged, c.env = true, append(os.Environ(), "HOME="+home)
	_, err := c.Install(t.Context(), func(string) {})
	assert.Check(t, err, "npm that tries to leave its folder")
	left, _ := filepath.Glob(filepath.Join(c.cache, "*", "*", ".new-*"))
	assert.Check(t, is.Len(left, 0), "left behind: %q", left)
}
