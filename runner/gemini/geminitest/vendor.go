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

// Key is the API key that Environ hands to the CLI and that requests carry.
const Key = "AIza-geminitest-0123456789abcdefghijklmn"

// node is the folder of the pinned Node, which the CLI is a script for; "" before Install.
var node atomic.Value

// Vendor is the Gemini CLI for tests that run with each agent CLI.
type Vendor struct{}

var _ agenttest.Vendor = Vendor{}

// Name implements agenttest.Vendor.
func (Vendor) Name() string { return "gemini" }

// Install implements agenttest.Vendor. It installs the pinned Node, too, which Environ puts on PATH.
func (Vendor) Install(t testing.TB) string {
	t.Helper()
	node.Store(filepath.Dir(installtest.Node(t)))
	return agenttest.Installed(t, "gemini", pinned.Gemini, "RAYMOND_TEST_GEMINI")
}

// Serve implements agenttest.Vendor.
func (Vendor) Serve(t testing.TB, m agenttest.Model) string { return NewServer(t, m).URL }

// Flags implements agenttest.Vendor.
func (Vendor) Flags(path string) []string { return []string{"--agent", "gemini", "--gemini", path} }

// Environ implements agenttest.Vendor.
func (Vendor) Environ(url, home string) []string {
	env := agenttest.Environ(home, "GOOGLE_GEMINI_BASE_URL="+url, "GEMINI_API_KEY="+Key)
	if dir, ok := node.Load().(string); ok {
		env = append(env[1:], "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	return env
}
