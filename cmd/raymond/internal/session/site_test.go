package session_test

import (
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m)) }

// site is a machine with a workflow, and what the tests here check on it.
type site struct{ *sitetest.Site }

// plainSite makes a site whose program is as users have it: for tests that start it very
// often, or measure it.
func plainSite(t testing.TB, workflow string) *site { return &site{sitetest.New(t, workflow)} }

// newSite makes a site whose program looks for races.
func newSite(t testing.TB, workflow string) *site { return racing(sitetest.New(t, workflow)) }

func newRealSite(t testing.TB, workflow string, api *claudetest.Server) *site {
	return racing(sitetest.NewReal(t, workflow, api))
}

func racing(s *sitetest.Site) *site {
	s.Bin = sitetest.Racing.Path(s.T)
	return &site{s}
}

func canonical(t testing.TB) *site { return &site{sitetest.Canonical(t)} }
