package program

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestNeededHosts checks that a CLI needs the host in the API's URL or, if no URL is set, the vendor's host.
func TestNeededHosts(t *testing.T) {
	for base, want := range map[string]string{
		"": "[api.example]", "http://127.0.0.1:4711/x": "[127.0.0.1:4711]", "https://gate.example:8443/v1": "[gate.example:8443]",
		"https://gate.example": "[gate.example]", "nonsense": "[]", "http://127.0.0.1": "[]",
	} {
		assert.Check(t, is.Equal(fmt.Sprint((&CLI{}).Needs(Source{Name: "no-such-program"}, base, "api.example").Hosts), want), "%q", base)
	}
}

// TestParseVersion checks texts with and without a name before the version, and texts without a version.
func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"2.1.330 (Claude Code)\n": "2.1.330", "codex-cli 0.169.0\n": "0.169.0", "x v1.2.3": "1.2.3", "10.0.1-beta": "10.0.1",
		"": "", "error: 1.2.3 is too old": "", "1.2": "", "/opt/x 1.2.3": "", "one two 1.2.3": "",
	} {
		got := ""
		if v, ok := ParseVersion([]byte(text)); ok {
			got = v.String()
		}
		assert.Check(t, is.Equal(got, want), "%q", text)
	}
}
