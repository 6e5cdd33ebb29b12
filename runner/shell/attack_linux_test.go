package shell

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/proc/proctest"
)

// TestDaemonsOfAScriptDoNotOutliveIt attacks as a script that wants to leave
// something behind. What it starts and needs meanwhile works.
func TestDaemonsOfAScriptDoNotOutliveIt(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("script-%d", time.Now().UnixNano())
	o := order(t, "A.sh", "mkfifo pipe\n(echo '<result>served</result>' >pipe) &\n"+proctest.Escape(name)+"cat pipe\nwait\n")
	a, err := base.Run(t.Context(), o, silent)
	if err != nil || a.Text != "<result>served</result>\n" {
		t.Errorf("got %q, %v", a.Text, err)
	}
	if got := strings.Join(a.Notes, "; "); got != "ended 4 processes that the script left behind" {
		t.Errorf("notes: got %q", got)
	}
	if left := proctest.Alive(name); len(left) > 0 {
		t.Errorf("%v are alive", left)
	}
}
