package pin_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/claude/pin"
)

func TestLockfilePinsEveryPackage(t *testing.T) {
	installtest.NPM{Name: "claude", Files: pin.CLI.Files, Dir: "runner/claude/pin"}.CheckPinned(t)
}
