package pin_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/gemini/pin"
)

func TestLockfilePinsEveryPackage(t *testing.T) {
	installtest.NPM{Name: "gemini", Files: pin.CLI.Files, Dir: "runner/gemini/pin"}.CheckPinned(t)
}
