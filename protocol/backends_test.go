package protocol

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestModelNames checks which names IsModel accepts.
func TestModelNames(t *testing.T) {
	for name, want := range map[string]bool{
		"opus": true, "claude-opus-4-5@20251101": true, "opus[1m]": true, "us.anthropic.claude:0": true, "models/x_1": true,
		strings.Repeat("m", 128): true, strings.Repeat("m", 129): false,
		"": false, "-x": false, "[1m]": false, "a b": false, "a&b": false, "a%b": false, "a\nb": false, "é": false, "a\"b": false,
	} {
		assert.Check(t, is.Equal(IsModel(name), want), "%q", name)
	}
}
