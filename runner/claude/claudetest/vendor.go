package claudetest

import (
	"testing"

	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/pinned"
)

// Key is the API key that the CLI is given.
const Key = "sk-ant-claudetest"

// Vendor is Claude Code for tests that run with each agent CLI.
type Vendor struct{}

var _ agenttest.Vendor = Vendor{}

// Name implements agenttest.Vendor.
func (Vendor) Name() string { return "claude" }

// Install implements agenttest.Vendor: the native program.
func (Vendor) Install(t testing.TB) string {
	t.Helper()
	return agenttest.Installed(t, "claude", pinned.Claude, "RAYMOND_TEST_CLAUDE")
}

// Serve implements agenttest.Vendor.
func (Vendor) Serve(t testing.TB, m agenttest.Model) string { return NewServer(t, m).URL }

// Flags implements agenttest.Vendor.
func (Vendor) Flags(path string) []string { return []string{"--agent", "claude", "--claude", path} }

// Environ implements agenttest.Vendor. The credential is that of a subscription, since only
// subscriptions have a usage limit.
func (Vendor) Environ(url, home string) []string {
	return agenttest.Environ(home,
		"ANTHROPIC_BASE_URL="+url, "CLAUDE_CODE_OAUTH_TOKEN="+Key,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_UPDATES=1", "CLAUDE_CODE_MAX_RETRIES=1",
		// Without it the CLI refuses to skip permissions as root, which is what
		// tests in containers run as.
		"IS_SANDBOX=1",
	)
}
