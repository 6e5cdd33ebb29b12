package e2e

import (
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m)) }

// site is a machine with a workflow, and what the tests here check on it.
type site struct{ *sitetest.Site }

func newSite(t testing.TB, workflow string) *site { return &site{sitetest.New(t, workflow)} }
