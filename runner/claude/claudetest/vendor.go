package claudetest

import (
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/pinned"
)

// VersionVar is the environment variable that names the version of the CLI which
// the tests drive: one like "2.1.128", "newest" for the newest on the registry,
// "" for the pinned one.
const VersionVar = "RAYMOND_TEST_CLAUDE"

// Key is the API key that the CLI is given.
const Key = "sk-ant-claudetest"

// cli is the real CLI. The folder of its program is that of npm.
var cli = installtest.CLI{
	Name: "claude", Package: pinned.Claude.Package, Pinned: pinned.Claude.Version(), Files: pinned.Claude.Files, Dir: "runner/pinned/claude", Var: VersionVar,
}

// Vendor is Claude Code for tests that run with each agent CLI.
type Vendor struct{}

var _ agenttest.Vendor = Vendor{}

// Name implements agenttest.Vendor.
func (Vendor) Name() string { return "claude" }

// Install implements agenttest.Vendor. It returns the path of the native program; see
// installtest.CLI.
func (Vendor) Install(t testing.TB) string {
	t.Helper()
	path, err := pinned.Claude.Binary(cli.Install(t))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Serve implements agenttest.Vendor.
func (Vendor) Serve(t testing.TB, m agenttest.Model) string { return NewServer(t, m).URL }

// Flags implements agenttest.Vendor.
func (Vendor) Flags(path string) []string { return []string{"--agent", "claude", "--claude", path} }

// Environ implements agenttest.Vendor. It is a whole environment, with none of the caller's
// variables but PATH. The credential is that of a subscription, since only subscriptions have
// a usage limit.
func (Vendor) Environ(url, home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + url,
		"NO_PROXY=*",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_TELEMETRY=1",
		"DISABLE_UPDATES=1",
		"CLAUDE_CODE_MAX_RETRIES=1",
		// Without it the CLI refuses to skip permissions as root, which is what
		// tests in containers run as.
		"IS_SANDBOX=1",
		"CLAUDE_CODE_OAUTH_TOKEN=" + Key,
		"HOME=" + home,
		"USERPROFILE=" + home,
	}
}
