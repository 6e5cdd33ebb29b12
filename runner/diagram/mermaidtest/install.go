package mermaidtest

import (
	"embed"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// Files holds package.json and package-lock.json, which pin Mermaid.
//
//go:embed package.json package-lock.json
var Files embed.FS

var pinned = installtest.NPM{Name: "mermaid", Files: Files, Dir: "runner/diagram/mermaidtest"}

// Install returns a folder with the pinned Mermaid in its node_modules. The
// first call on a machine fills it with npm, in the user's cache folder. It ends
// the test when that does not work, naming the command to run by hand.
func Install(t testing.TB) string {
	t.Helper()
	return pinned.Install(t)
}
