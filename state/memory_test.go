package state_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestStateFilesOfManyValuesAreNotDecoded: 16 MiB of empty agents would be gigabytes.
func TestStateFilesOfManyValuesAreNotDecoded(t *testing.T) {
	_, err := state.Decode([]byte(`{"schema":10,"agents":[` + strings.Repeat(`{},`, 5<<20) + `{}]}`))
	var bad *state.FileError
	if !errors.As(err, &bad) || bad.Field != "" {
		t.Errorf("got %v, want an error of the whole file", err)
	}
}
