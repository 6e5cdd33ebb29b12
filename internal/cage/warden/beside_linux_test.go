package warden

import (
	"sync/atomic"
	"testing"
)

// TestSocketsBesideAreRefused: a name that begins with that of a writable folder is not
// below it.
func TestSocketsBesideAreRefused(t *testing.T) {
	s := newSite(t)
	var count atomic.Int32
	beside := s.inside + ".sock"
	serve(t, "unix", beside, &count)
	if said, _ := attack(t, s.inside, s.rules(), "unix", beside); said != "EACCES" || count.Load() > 0 {
		t.Errorf("got %s and %d connections, want EACCES and none", said, count.Load())
	}
}
