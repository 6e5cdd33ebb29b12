package codex

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	enterCage()
	os.Exit(m.Run())
}
