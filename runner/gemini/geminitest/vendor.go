package geminitest

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/pinned"
)

// VersionVar is the environment variable that names the version of the CLI which the tests
// drive: one like "0.61.0", "newest" for the newest on the registry, "" for the pinned one.
const VersionVar = "RAYMOND_TEST_GEMINI"

// Key is the API key that Environ hands to the CLI and that requests carry.
const Key = "AIza-geminitest-0123456789abcdefghijklmn"

var cli = installtest.CLI{
	Name: "gemini", Package: pinned.Gemini.Package, Pinned: pinned.Gemini.Version(), Files: pinned.Gemini.Files, Dir: "runner/pinned/gemini", Var: VersionVar,
}

// node is the folder of the pinned Node, which the CLI is a script for; "" before Install.
var node atomic.Value

// Vendor is the Gemini CLI for tests that run with each agent CLI.
type Vendor struct{}

var _ agenttest.Vendor = Vendor{}

// Name implements agenttest.Vendor.
func (Vendor) Name() string { return "gemini" }

// Install implements agenttest.Vendor; see installtest.CLI. It installs the pinned Node, too, which
// Environ puts on PATH.
func (Vendor) Install(t testing.TB) string {
	t.Helper()
	path, err := pinned.Gemini.Binary(cli.Install(t))
	if err != nil {
		t.Fatal(err)
	}
	node.Store(filepath.Dir(installtest.Node(t)))
	return path
}

// Serve implements agenttest.Vendor.
func (Vendor) Serve(t testing.TB, m agenttest.Model) string { return NewServer(t, m).URL }

// Flags implements agenttest.Vendor.
func (Vendor) Flags(path string) []string { return []string{"--agent", "gemini", "--gemini", path} }

// Environ implements agenttest.Vendor. It is a whole environment, with none of the caller's
// variables but PATH.
func (Vendor) Environ(url, home string) []string {
	path := os.Getenv("PATH")
	if dir, ok := node.Load().(string); ok {
		path = dir + string(os.PathListSeparator) + path
	}
	return []string{
		"PATH=" + path,
		"HOME=" + home,
		"USERPROFILE=" + home,
		"LANG=C.UTF-8",
		"GOOGLE_GEMINI_BASE_URL=" + url,
		"GEMINI_API_KEY=" + Key,
		"NO_PROXY=*",
	}
}
