package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionIsThatOfTheReleaseOrElseOfTheModule(t *testing.T) {
	for _, c := range []struct {
		released, module string
		known            bool
		want             string
	}{
		{"v1.2.3", "v0.9.0", true, "v1.2.3"},
		{"", "v1.2.3", true, "v1.2.3"},
		{"", "(devel)", true, "dev"},
		{"", "", true, "dev"},
		{"", "", false, "dev"},
	} {
		build := func() (*debug.BuildInfo, bool) {
			return &debug.BuildInfo{Main: debug.Module{Version: c.module}}, c.known
		}
		if got := versionOf(c.released, build); got != c.want {
			t.Errorf("version of release %q, module %q: got %q, want %q", c.released, c.module, got, c.want)
		}
	}
}
