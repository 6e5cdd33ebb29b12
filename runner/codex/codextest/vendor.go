package codextest

import (
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/pinned"
)

// VersionVar is the environment variable that names the version of the CLI which the tests
// drive: one like "0.169.0", "newest" for the newest on the registry, "" for the pinned one.
const VersionVar = "RAYMOND_TEST_CODEX"

// Key is the API key that Environ hands to the CLI and that requests carry.
const Key = "sk-codextest-0123456789"

var cli = installtest.CLI{
	Name: "codex", Package: pinned.Codex.Package, Pinned: pinned.Codex.Version(), Files: pinned.Codex.Files, Dir: "runner/pinned/codex", Var: VersionVar,
}

// Vendor is Codex for tests that run with each agent CLI.
type Vendor struct{}

var _ agenttest.Vendor = Vendor{}

// Name implements agenttest.Vendor.
func (Vendor) Name() string { return "codex" }

// Install implements agenttest.Vendor. It returns the path of the native program; see
// installtest.CLI.
func (Vendor) Install(t testing.TB) string {
	t.Helper()
	path, err := pinned.Codex.Binary(cli.Install(t))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Serve implements agenttest.Vendor.
func (Vendor) Serve(t testing.TB, m agenttest.Model) string { return NewServer(t, m).URL }

// Flags implements agenttest.Vendor.
func (Vendor) Flags(path string) []string { return []string{"--agent", "codex", "--codex", path} }

// Environ implements agenttest.Vendor. It is a whole environment, with none of the caller's
// variables but PATH.
func (Vendor) Environ(url, home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"USERPROFILE=" + home,
		"LANG=C.UTF-8",
		"OPENAI_BASE_URL=" + url + "/v1",
		"OPENAI_API_KEY=" + Key,
		"NO_PROXY=*",
	}
}
