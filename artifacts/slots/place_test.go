package slots_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// TestACheckpointCountsOnlyWhereItWasStored: one that was copied from elsewhere, though
// it is as it was sealed, is refused.
func TestACheckpointCountsOnlyWhereItWasStored(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*checkpoint.Manifest)
		want string
	}{
		"another key":          {func(m *checkpoint.Manifest) { m.Key = "another" }, "is of the key"},
		"another repository":   {func(m *checkpoint.Manifest) { m.RepositoryID = 666 }, "is of the repository with id 666"},
		"another workflow run": {func(m *checkpoint.Manifest) { m.RunID = 666 }, "says workflow run 666"},
	} {
		for _, run := range []int64{100, 1} { // of now, and of before
			s := newScene(t)
			s.addRun(1, nil)
			s.put(run, 5, tt.edit)
			found, err := s.find(s.query(slots.Auto))
			var invalid *checkpoint.Invalid
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, stored by run %d: got %+v, %v, want a *checkpoint.Invalid with %q", name, run, found, err, tt.want)
			}
		}
	}
}
