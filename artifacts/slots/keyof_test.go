package slots_test

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// TestWhichJobsMayTakeARun checks which jobs may continue a run whose key they have not chosen
// themselves, because an event may start several jobs.
func TestWhichJobsMayTakeARun(t *testing.T) {
	work := &checkpoint.KeyOrigin{Job: "work", Default: true}
	both := work.WithJob("publish")
	leg := &checkpoint.KeyOrigin{Job: "work", Matrix: "0a1b2c3d", Default: true}
	for name, test := range map[string]struct {
		of    *checkpoint.KeyOrigin
		taker slots.Taker
		want  bool
	}{
		"the job whose key it is":                      {work, slots.Taker{Job: "work"}, true},
		"that job, which names another key by now":     {work, slots.Taker{Job: "work", Key: "issue-34"}, true},
		"another job":                                  {work, slots.Taker{Job: "triage"}, false},
		"another job with a key of its own":            {work, slots.Taker{Job: "triage", Key: "triage-34"}, false},
		"another job that names the key":               {work, slots.Taker{Job: "triage", Key: "issue-12"}, true},
		"the leg whose key it is":                      {leg, slots.Taker{Job: "work", Matrix: "0a1b2c3d"}, true},
		"another leg":                                  {leg, slots.Taker{Job: "work", Matrix: "ffffffff"}, false},
		"a leg of a job that had none":                 {work, slots.Taker{Job: "work", Matrix: "ffffffff"}, false},
		"a job to which the run was handed":            {work, slots.Taker{Job: "publish", Key: "issue-34", RunID: 7, NamesJob: true}, true},
		"such a job of another workflow run":           {work, slots.Taker{Job: "publish", Key: "issue-34", RunID: 8, NamesJob: true}, false},
		"a job that has resumed it before":             {both, slots.Taker{Job: "publish", Key: "issue-34", RunID: 8, NamesJob: true}, true},
		"a job beside it, to which none is handed":     {work, slots.Taker{Job: "triage", Key: "issue-34", RunID: 7}, false},
		"a job of that id in a reusable workflow":      {work, slots.Taker{Job: "work", Called: true}, false},
		"such a job that names the key":                {work, slots.Taker{Job: "work", Called: true, Key: "issue-12"}, true},
		"whose key is not known, the job that made it": {nil, slots.Taker{Job: "work"}, false},
		"whose key is not known, who names the key":    {nil, slots.Taker{Job: "work", Key: "issue-12"}, true},
		"no job, of a run of no job":                   {&checkpoint.KeyOrigin{}, slots.Taker{}, false},
	} {
		m := &checkpoint.Manifest{Key: "issue-12", KeyOrigin: test.of, RunID: 7, Job: "work"}
		assert.Check(t, is.Equal(test.taker.MayTake(m), test.want), name)
	}
}
