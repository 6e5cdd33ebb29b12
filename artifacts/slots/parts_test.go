package slots_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

// partsOf returns the parts of a run whose agents wait for the job work.
func partsOf(most int) []state.Part {
	var agents []*state.Agent
	for i := range most {
		agents = append(agents, &state.Agent{ID: fmt.Sprintf("main_w%d", i+1), N: i + 2, Status: state.Waiting, Handovers: 1,
			Waits: &state.WaitCondition{For: state.ForJob, Job: "work"}})
	}
	run := &state.Run{Agents: agents}
	step := run.Step(time.Unix(1, 0))
	step.HandOver("work", most)
	return *step.Delta().Parts
}

// putPart stores a checkpoint of a part.
func (s *scene) putPart(run int64, generation int, p state.Part, edit func(*checkpoint.Manifest)) {
	s.t.Helper()
	s.putAt(slots.Place{Key: key, Part: p.Name}, run, generation, func(m *checkpoint.Manifest) {
		m.Part = &p
		if edit != nil {
			edit(m)
		}
	})
}

func (s *scene) listParts(q slots.PartsQuery) *slots.PartsList {
	s.t.Helper()
	list, err := s.finder().ListParts(s.t.Context(), q)
	assert.NilError(s.t, err)
	return list
}

// TestPartsAreFound checks that the newest checkpoint of each part is found in the present workflow
// run and in the workflow run of the base, and that checkpoints of other runs, keys and parts are
// not.
func TestPartsAreFound(t *testing.T) {
	behaving(t, func(s *scene) {
		parts := partsOf(3)
		s.addRun(50, nil)
		s.put(50, 1, nil)
		base := s.expect("the run itself", slots.Auto, 50, 1)
		s.putPart(50, 1, parts[0], nil)
		s.putPart(50, 2, parts[0], nil)
		s.putPart(100, 1, parts[0], nil)
		s.putPart(100, 2, parts[1], func(m *checkpoint.Manifest) { m.WorkflowID = key + "-00000009" })
		s.putPart(60, 5, parts[2], nil)
		list, got := s.listParts(slots.PartsQuery{Query: s.query(slots.Auto), Base: base, Now: time.Unix(1e6, 0)}), ""
		for _, p := range parts {
			found, err := list.Read(t.Context(), p)
			assert.NilError(t, err)
			got += fmt.Sprintf("%s %v:", found.Part.Name, list.Has(p))
			for _, f := range found.All {
				got += fmt.Sprintf(" %d of %d", f.Manifest.Generation, f.RunID)
			}
			got += "\n"
			found.Remove()
		}
		want := fmt.Sprintf("%s true: 1 of 100 2 of 50\n%s true:\n%s false:\n", parts[0].Name, parts[1].Name, parts[2].Name)
		assert.Check(t, is.Equal(got, want))
	})
}

// TestCopiedPartsAreRefused checks that a checkpoint that was copied to the place of another part,
// or of the run itself, is refused.
func TestCopiedPartsAreRefused(t *testing.T) {
	for name, edit := range map[string]func(*checkpoint.Manifest){
		"the run itself": func(m *checkpoint.Manifest) { m.Part = nil },
		"another part":   func(m *checkpoint.Manifest) { p := partsOf(2)[1]; m.Part = &p },
	} {
		s := newScene(t)
		s.put(100, 1, nil)
		base := s.expect(name, slots.Auto, 100, 1)
		parts := partsOf(2)
		s.putPart(100, 1, parts[0], edit)
		var bad *checkpoint.Invalid
		_, err := s.listParts(slots.PartsQuery{Query: s.query(slots.Auto), Base: base}).Read(t.Context(), parts[0])
		assert.Check(t, errors.As(err, &bad), "%s: got %v, want *checkpoint.Invalid", name, err)
	}
	s := newScene(t) // a part is not accepted as the run itself
	p := partsOf(1)[0]
	s.put(100, 1, func(m *checkpoint.Manifest) { m.Part = &p })
	_, err := s.find(s.query(slots.Auto))
	assert.Check(t, err != nil, "a part was found as the run itself")
}

// TestWhichPartsMayBeRunning checks that parts may be running in another workflow run that is in
// progress and within the deadline, and in this workflow run according to the API.
func TestWhichPartsMayBeRunning(t *testing.T) {
	now := time.Unix(50_000, 0).Add(2 * time.Hour)
	for name, c := range map[string]struct {
		status   string // of the other workflow run; "" for the present one
		job      string // status of the job in this workflow run; "" if unknown
		manifest func(*checkpoint.Manifest)
		deadline time.Duration
		running  bool
	}{
		"nothing stored, the run is over":      {status: "completed"},
		"nothing stored, in progress":          {status: "in_progress", running: true},
		"nothing stored, past the deadline":    {status: "in_progress", deadline: time.Hour},
		"in progress":                          {status: "in_progress", running: true, manifest: func(m *checkpoint.Manifest) { m.Status = state.Running }},
		"ended by its post phase":              {status: "in_progress", manifest: func(m *checkpoint.Manifest) { m.Status, m.Ended = state.Running, true }},
		"failed":                               {status: "in_progress", manifest: func(m *checkpoint.Manifest) { m.Status = state.Failed }},
		"here: nothing stored":                 {},
		"here: died, jobs are unknown":         {manifest: func(m *checkpoint.Manifest) { m.Status = state.Running }},
		"here: its job is in progress":         {job: "in_progress", running: true, manifest: func(m *checkpoint.Manifest) { m.Status = state.Running }},
		"here: its job has ended":              {job: "completed", manifest: func(m *checkpoint.Manifest) { m.Status = state.Running }},
		"here: in progress, but it has failed": {job: "in_progress", manifest: func(m *checkpoint.Manifest) { m.Status = state.Failed }},
	} {
		s := newScene(t)
		run := int64(100)
		if c.status != "" {
			run = 50
			s.addRun(run, func(r *artifactstest.Run) { r.Status = c.status })
		}
		if c.job != "" {
			s.Jobs = map[int64][]artifactstest.Job{100: {{Name: "work", Status: c.job, Attempt: 1}}}
		}
		s.put(run, 1, nil)
		base := s.expect(name, slots.Auto, run, 1)
		part := partsOf(1)[0]
		if c.manifest != nil {
			s.putPart(run, 1, part, func(m *checkpoint.Manifest) {
				m.Job, m.RunAttempt = "work", 1
				c.manifest(m)
			})
		}
		q := slots.PartsQuery{Query: s.query(slots.Auto), Base: base, Deadline: c.deadline, Now: now}
		q.Job.Attempt = 1
		found, err := s.listParts(q).Read(t.Context(), part)
		assert.Check(t, err == nil && found.Running == c.running, "%s: got %+v, %v; want running %v", name, found, err, c.running)
	}
}
