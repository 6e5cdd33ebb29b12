package geminitest

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/gemini"
)

// node is the folder of the pinned Node, which the CLI is a script for; "" before it is installed.
var node atomic.Value

// Vendor is the Gemini CLI, with the pinned Node on PATH.
var Vendor = agenttest.Vendor{
	Name: "gemini", Pin: gemini.Pin, Serve: serve,
	Find: func(t testing.TB) string {
		t.Helper()
		node.Store(filepath.Dir(installtest.Node(t)))
		return ""
	},
	Vars: func(url string) []string {
		vars := []string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=AIza-geminitest-0123456789abcdefghijklmn"}
		if dir, ok := node.Load().(string); ok {
			vars = append(vars, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		}
		return vars
	},
}
