package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/proc/proctest"
)

// TestDaemonsOfTheCLIDoNotOutliveIt attacks as a tool of the agent that wants to leave
// something behind.
func TestDaemonsOfTheCLIDoNotOutliveIt(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("agent-%d", time.Now().UnixNano())
	cli := filepath.Join(t.TempDir(), "claude")
	script := `#!/bin/sh
		if [ "$1" = --version ]; then echo 2.1.197; exit; fi
		` + proctest.Escape(name) + `
		echo '{"type":"result","subtype":"success","is_error":false,"result":"hi"}'
	`
	if err := os.WriteFile(cli, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	b := &Backend{Path: cli, Env: []string{"PATH=/usr/bin:/bin"}, NoNewPrivs: true}
	if _, f, _ := run(t.Context(), t, b, order(t, "hello")); f != nil {
		t.Errorf("got %v", f)
	}
	if left := proctest.Alive(name); len(left) > 0 {
		t.Errorf("%v are alive", left)
	}
}
