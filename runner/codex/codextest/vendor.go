package codextest

import (
	"testing"

	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/pinned"
)

// Key is the API key that Environ hands to the CLI and that requests carry.
const Key = "sk-codextest-0123456789"

// Vendor is Codex for tests that run with each agent CLI.
type Vendor struct{}

var _ agenttest.Vendor = Vendor{}

// Name implements agenttest.Vendor.
func (Vendor) Name() string { return "codex" }

// Install implements agenttest.Vendor: the native program.
func (Vendor) Install(t testing.TB) string {
	t.Helper()
	return agenttest.Installed(t, "codex", pinned.Codex, "RAYMOND_TEST_CODEX")
}

// Serve implements agenttest.Vendor.
func (Vendor) Serve(t testing.TB, m agenttest.Model) string { return NewServer(t, m).URL }

// Flags implements agenttest.Vendor.
func (Vendor) Flags(path string) []string { return []string{"--agent", "codex", "--codex", path} }

// Environ implements agenttest.Vendor.
func (Vendor) Environ(url, home string) []string {
	return agenttest.Environ(home, "OPENAI_BASE_URL="+url+"/v1", "OPENAI_API_KEY="+Key)
}
