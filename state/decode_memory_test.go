package state_test

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestHugeStateFilesAreNotDecoded checks that Decode rejects a file of 16 MiB that would need gigabytes of
// memory.
func TestHugeStateFilesAreNotDecoded(t *testing.T) {
	_, err := state.Decode([]byte(`{"schema":10,"agents":[` + strings.Repeat(`{},`, 5<<20) + `{}]}`))
	var bad *state.FileError
	assert.Check(t, errors.As(err, &bad), "got %v, want an error of the whole file", err)
	assert.Check(t, is.Equal(bad.Field, ""))
}
