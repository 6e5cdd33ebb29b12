package e2e

import (
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m)) }

// site adds the checks of this package to a site.
type site struct{ *sitetest.Site }

func newSite(t testing.TB, workflow string) *site { return &site{sitetest.New(t, workflow)} }
