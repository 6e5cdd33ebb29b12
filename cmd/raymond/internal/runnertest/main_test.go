//go:build linux && world

package runnertest

import (
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m)) }
