package options

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestFlagAndItsValueAreTwoArguments checks that an argument is rejected if it is a flag, a space and a
// value. A value alone may contain spaces.
func TestFlagAndItsValueAreTwoArguments(t *testing.T) {
	for arg, isOne := range map[string]bool{
		"--max-turns 5": false, "-p x": false, "--add-dir  /a b": false,
		"--max-turns": true, "--max-turns=5": true, "5": true, "": true, "- be nice": true, "Use --max-turns 5.": true,
		`--settings={"a": 1}`: true, "--append-system-prompt=be nice": true, "--verbose ": true,
	} {
		_, err := oneArgument(arg)
		assert.Check(t, (err == nil) == isOne, "%q: got %v", arg, err)
	}
}
