package claudetest

import (
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/pinned"
)

// VersionVar is the environment variable that names the version of the CLI which
// the tests drive: one like "2.1.128", "newest" for the newest on the registry,
// "" for the pinned one.
const VersionVar = "RAYMOND_TEST_CLAUDE"

// cli is the real CLI. The folder of its program is that of npm.
var cli = installtest.CLI{
	Name: "claude", Package: pinned.Claude.Package, Pinned: pinned.Claude.Version(), Files: pinned.Claude.Files, Dir: "runner/pinned/claude", Var: VersionVar,
}

// Install returns the path of the native program of the CLI, in the version that
// VersionVar names; see installtest.CLI.
func Install(t testing.TB) string {
	t.Helper()
	path, err := pinned.Claude.Binary(cli.Install(t))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
