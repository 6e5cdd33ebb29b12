package agents

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
)

// TestLoginsOfOthersAreHidden: of an agent CLI that no prompt of a run needs, the run's cages hide
// the logins and open nothing, and nothing of it is made on the machine. What any CLI obeys is
// guarded.
func TestLoginsOfOthersAreHidden(t *testing.T) {
	home := t.TempDir()
	c := Config{Env: []string{"HOME=" + home, "USERPROFILE=" + home}}
	login := map[string]string{
		protocol.BackendClaude: ".claude/.credentials.json", protocol.BackendCodex: ".codex/auth.json", protocol.BackendGemini: ".gemini/oauth_creds.json",
	}
	host := map[string]string{
		protocol.BackendClaude: "api.anthropic.com", protocol.BackendCodex: "api.openai.com", protocol.BackendGemini: "generativelanguage.googleapis.com",
	}
	for _, used := range [][]string{{protocol.BackendClaude}, {protocol.BackendGemini}, {protocol.BackendClaude, protocol.BackendCodex}} {
		n := Needs(c, used)
		for name, file := range login {
			path := filepath.Join(home, filepath.FromSlash(file))
			isUsed := slices.Contains(used, name)
			if got := slices.Contains(n.Logins, path); got == isUsed {
				t.Errorf("used %q: %s is hidden: %v, want %v", used, path, got, !isUsed)
			}
			if got := slices.Contains(n.Hosts, host[name]); got != isUsed {
				t.Errorf("used %q: hosts: got %q, want %s among them: %v", used, n.Hosts, host[name], isUsed)
			}
			folder := filepath.Dir(path)
			writes := slices.ContainsFunc(n.Write, func(w string) bool { return filepath.Dir(w) == folder || filepath.Dir(filepath.Dir(w)) == folder })
			if writes && !isUsed {
				t.Errorf("used %q: writable: got %q, want nothing of %s", used, n.Write, folder)
			}
			if _, err := os.Lstat(folder); err == nil && !isUsed {
				t.Errorf("used %q: %s was made", used, folder)
			}
		}
		if settings := filepath.Join(home, ".claude", "settings.json"); !slices.Contains(n.Guarded, settings) {
			t.Errorf("used %q: guarded: got %q, want %s among it", used, n.Guarded, settings)
		}
	}
}
