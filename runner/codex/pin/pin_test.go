package pin_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/codex/pin"
)

func TestLockfilePinsEveryPackage(t *testing.T) {
	installtest.NPM{Name: "codex", Files: pin.CLI.Files, Dir: "runner/codex/pin"}.CheckPinned(t)
}
