package claudetest

import (
	"testing"

	"github.com/raymond-action/raymond-action/runner/claude/pin"
	"github.com/raymond-action/raymond-action/runner/installtest"
)

// Install returns the path of the pinned CLI's native program. The first call
// on a machine installs it with npm into the user's cache folder; packages
// tested in parallel wait for each other. It ends the test when that does not
// work, naming the command to run by hand.
func Install(t testing.TB) string {
	t.Helper()
	cli := installtest.NPM{Name: "claude-" + pin.Version(), Files: pin.Files, Dir: "runner/claude/pin"}
	path, err := pin.Binary(cli.Install(t))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
