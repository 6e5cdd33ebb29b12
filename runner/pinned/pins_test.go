package pinned_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/pinned"
)

func TestLockfilesPinEveryPackage(t *testing.T) {
	for name, cli := range map[string]pinned.CLI{"claude": pinned.Claude, "codex": pinned.Codex, "gemini": pinned.Gemini} {
		installtest.NPM{Name: name, Files: cli.Files, Dir: "runner/pinned/" + name}.CheckPinned(t)
	}
}
