package verify

import (
	"fmt"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/proc/proctest"
)

// TestDaemonsOfACommandDoNotOutliveIt attacks as a done_when command, which runs what
// agents wrote.
func TestDaemonsOfACommandDoNotOutliveIt(t *testing.T) {
	name := fmt.Sprintf("command-%d", time.Now().UnixNano())
	if r := one(t, proctest.Escape(name)+"true"); r.RC != 0 {
		t.Errorf("got %+v", r)
	}
	if left := proctest.Alive(name); len(left) > 0 {
		t.Errorf("%v are alive", left)
	}
}
