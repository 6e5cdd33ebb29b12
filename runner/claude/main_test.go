package claude

import (
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

func TestMain(m *testing.M) {
	claudetest.PlayStub()
	os.Exit(m.Run())
}
