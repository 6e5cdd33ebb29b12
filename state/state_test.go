package state_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// TestFileForgetsNothing checks that every field of a run is saved in its file and read back. Because it
// fills the fields by reflection, it covers new fields as well.
func TestFileForgetsNothing(t *testing.T) {
	r := new(state.Run)
	state.Fill(reflect.ValueOf(r).Elem())
	r.Schema = state.Schema
	data := statetest.Encode(t, r)
	got, err := state.Decode(data)
	assert.Assert(t, got != nil, "Decode: %v\n%s", err, data)
	assert.Check(t, is.DeepEqual(got, r, cmpopts.IgnoreUnexported(state.Run{})), "read -, saved +")
}
