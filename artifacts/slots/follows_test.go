package slots_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

// TestCheckpointMustFollowTheRequiredOne checks that a checkpoint is a conflict, whatever the state
// of its run, if it is older than the required one, differs from it, or belongs to another run.
func TestCheckpointMustFollowTheRequiredOne(t *testing.T) {
	digest, other := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	named := slots.Named{WorkflowID: id, Generation: 5, Digest: digest}
	of := func(generation int, previous string) *checkpoint.Manifest {
		return &checkpoint.Manifest{WorkflowID: id, Generation: generation, Previous: previous, Status: state.Suspended}
	}
	anothers := of(9, "")
	anothers.WorkflowID = key + "-00000002"
	ended := of(4, "")
	ended.Status = state.Completed
	for name, c := range map[string]struct {
		m       *checkpoint.Manifest
		digest  string
		follows slots.Named
		want    string
	}{
		"the same":                  {of(5, other), digest, named, "resume"},
		"the next":                  {of(6, digest), other, named, "resume"},
		"a later one":               {of(7, other), other, named, "resume"},
		"an older one":              {of(4, other), other, named, slots.ClassConflict},
		"an older one, completed":   {ended, other, named, slots.ClassConflict},
		"another one in its place":  {of(5, other), other, named, slots.ClassConflict},
		"the next after another":    {of(6, other), other, named, slots.ClassConflict},
		"of another run":            {anothers, other, named, slots.ClassConflict},
		"none":                      {nil, "", named, slots.ClassConflict},
		"an older one, not named":   {of(4, other), other, slots.Named{}, "resume"},
		"none, and none was named ": {nil, "", slots.Named{}, "new"},
	} {
		got := slots.Decide(c.m, slots.Facts{Found: slots.Found{Digest: c.digest}, Mode: slots.Auto, Follows: c.follows})
		assert.Check(t, decision(got) == c.want && (c.want != slots.ClassConflict || got.Hint != ""), "%s: got %+v, want %s", name, got, c.want)
	}
}

func TestParseNamed(t *testing.T) {
	const id = "ci-issue-7-00000001"
	named := slots.Named{WorkflowID: id, Generation: 12, Digest: "sha256:" + strings.Repeat("0f", 32)}
	for text, want := range map[string]slots.Named{"": {}, named.String(): named} {
		if got, err := slots.ParseNamed(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	good := named.String()
	for _, bad := range []string{"x", ":", good + "0", good + "\n", strings.ToUpper(good), strings.Replace(good, ":12:", ":0:", 1),
		strings.Replace(good, ":12:", ":-1:", 1), strings.Replace(good, "sha256", "md5", 1), "../" + good, strings.TrimPrefix(good, id)} {
		got, err := slots.ParseNamed(bad)
		assert.Check(t, err != nil, "%q: got %+v, want an error", bad, got)
	}
}
