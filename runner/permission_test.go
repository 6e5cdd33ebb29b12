package runner

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestStateNeverGetsMoreThanRun checks that a state's own permission mode applies only if it allows
// no more than the run's mode.
func TestStateNeverGetsMoreThanRun(t *testing.T) {
	for _, tt := range []struct{ own, run, want string }{
		{"", "acceptEdits", "acceptEdits"},
		{"plan", "acceptEdits", "plan"},
		{"auto", "acceptEdits", "acceptEdits"},
		{"bypassPermissions", "default", "default"},
		{"dontAsk", "default", "dontAsk"},
		{"acceptEdits", "bypassPermissions", "acceptEdits"},
		{"default", "dontAsk", "default"},
		{"acceptEdits", "dontAsk", "dontAsk"},
		{"auto", "auto", "auto"},
		{"bypassPermissions", "auto", "auto"},
	} {
		assert.Check(t, is.Equal(permission(tt.own, tt.run), tt.want), "permission(%q, %q)", tt.own, tt.run)
	}
}

// TestAllowedToolsOfRunAndState checks which tools a state may use, given its own list and the run's.
func TestAllowedToolsOfRunAndState(t *testing.T) {
	for _, tt := range []struct{ own, run, want []string }{
		{nil, []string{"Edit"}, []string{"Edit"}},
		{[]string{"Bash(go test:*)", "Edit"}, nil, []string{"Bash(go test:*)", "Edit"}},
		{[]string{"Bash(go test:*)", "Edit", "Write"}, []string{"Bash", "Write"}, []string{"Bash(go test:*)", "Write"}},
		{[]string{"Bash"}, []string{"Bash(git:*)"}, nil},
		{[]string{}, []string{"Edit"}, nil},
	} {
		got := allowed(tt.own, tt.run)
		assert.Check(t, is.DeepEqual(got, tt.want), "allowed(%q, %q) = %q", tt.own, tt.run, got)
	}
}
