package claudetest

import (
	"os"
	"testing"
)

// Key is the API key that Env hands to the CLI and that requests carry.
const Key = "sk-ant-claudetest"

// Env returns a whole environment for the real CLI: a fresh home folder, s in
// place of the Messages API, nothing else on the network, and a single retry of
// a failed request, so that errors arrive within a second. It holds none of the
// caller's variables but PATH.
func Env(t testing.TB, s *Server) []string {
	t.Helper()
	return append(plainEnv(s.URL), "ANTHROPIC_API_KEY="+Key, "HOME="+t.TempDir(), "TMPDIR="+t.TempDir())
}

// IsFull reports whether tests that start the CLI often are to try every case, as
// CI does (RAYMOND_TEST_FULL), and not one of each kind.
func IsFull() bool { return os.Getenv("RAYMOND_TEST_FULL") != "" }
