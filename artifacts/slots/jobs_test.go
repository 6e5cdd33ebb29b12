package slots_test

import (
	"context"
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

// jobsAPI is an API that returns the given jobs or an error.
type jobsAPI struct {
	slots.Archive
	jobs []artifacts.JobInfo
	err  error
}

func (a jobsAPI) Jobs(context.Context, int64) ([]artifacts.JobInfo, error) { return a.jobs, a.err }

const over, on = "completed", "in_progress"

func job(name, runner, status string) artifacts.JobInfo { return jobOf(2, name, runner, status) }

func jobOf(attempt int, name, runner, status string) artifacts.JobInfo {
	return artifacts.JobInfo{Name: name, Runner: runner, Attempt: attempt, Status: status}
}

// TestCheckNoticesThatTheJobIsOver checks that Check notices that the job of the claim is over, and
// never by mistake.
func TestCheckNoticesThatTheJobIsOver(t *testing.T) {
	for name, tt := range map[string]struct {
		jobs []artifacts.JobInfo
		err  error
		want bool
	}{
		"it is over":                       {[]artifacts.JobInfo{job("build", "r9", on), job("build", "r1", over)}, nil, true},
		"it is over in Gitea":              {[]artifacts.JobInfo{jobOf(0, "build", "r1", over)}, nil, true},
		"it goes on":                       {[]artifacts.JobInfo{job("build", "r1", over), job("build", "r1", on)}, nil, false},
		"the API doesn't know yet by whom": {[]artifacts.JobInfo{job("build", "r1", over), job("build", "", "queued")}, nil, false},
		"another of its name is over":      {[]artifacts.JobInfo{job("build", "r9", over)}, nil, false},
		"it was over in the last attempt":  {[]artifacts.JobInfo{jobOf(1, "build", "r1", over)}, nil, false},
		"another is tried again":           {[]artifacts.JobInfo{jobOf(3, "build", "r9", on), job("build", "r1", on)}, nil, false},
		"there is a later attempt":         {[]artifacts.JobInfo{jobOf(3, "build", "r9", on)}, nil, true},
		"nobody tells":                     {[]artifacts.JobInfo{job("build", "r1", over)}, errors.New("not told"), false},
	} {
		s := newScene(t)
		c := s.claimer("one", func(c *slots.Claimer) { c.Mine.Runner = "r1" })
		assert.NilError(t, c.Take(t.Context()), "%s: Take", name)
		c.Finder.Archive = jobsAPI{jobs: tt.jobs, err: tt.err}
		err := c.Check(t.Context())
		assert.Check(t, is.Equal(isConflict(err), tt.want), "%s: Check = %v", name, err)
	}
}

// TestJobOfACheckpointIsIdentified checks that the job that has stored a run is identified among
// the jobs of its attempt, by its id and its runner.
func TestJobOfACheckpointIsIdentified(t *testing.T) {
	other := job("test", "r9", on)
	for _, tt := range []struct {
		name string
		edit func(*checkpoint.Manifest)
		jobs []artifacts.JobInfo
		want string
	}{
		{"an earlier attempt", func(m *checkpoint.Manifest) { m.RunAttempt = 1 }, nil, over},
		{"an earlier step of this job", func(m *checkpoint.Manifest) { m.Job, m.Runner = "later", "r2" }, nil, over},
		{"it goes on", nil, []artifacts.JobInfo{other, job("build", "r1", on)}, on},
		{"it is over", nil, []artifacts.JobInfo{other, job("build", "r1", over)}, over},
		{"of an attempt before", nil, []artifacts.JobInfo{other, jobOf(1, "build", "", on), job("build", "r1", over)}, over},
		{"of a reusable workflow", nil, []artifacts.JobInfo{other, job("call / build", "", over)}, over},
		{"a leg of a matrix", nil, []artifacts.JobInfo{job("build (1, 2)", "r1", over), job("build (2, 2)", "r3", on)}, over},
		{"any leg of a matrix", func(m *checkpoint.Manifest) { m.Runner = "" }, []artifacts.JobInfo{job("build (1)", "r1", over), job("build (2)", "r3", on)}, on},
		{"with a name of its own", nil, []artifacts.JobInfo{other, job("Build it", "r1", over)}, over},
		{"the only one, with a name of its own", func(m *checkpoint.Manifest) { m.Runner = "" }, []artifacts.JobInfo{job("Build it", "r1", over)}, over},
		{"nobody knows which", func(m *checkpoint.Manifest) { m.Runner = "" }, []artifacts.JobInfo{other, job("Build it", "r1", over)}, ""},
		{"another has its name", nil, []artifacts.JobInfo{job("builder", "r7", on), job("rebuild", "r8", on)}, ""},
	} {
		s := newScene(t)
		s.put(100, 1, func(m *checkpoint.Manifest) {
			m.Status, m.Job, m.Runner, m.RunAttempt = state.Running, "build", "r1", 2
			if tt.edit != nil {
				tt.edit(m)
			}
		})
		for _, err := range []error{nil, errors.New("not told")} {
			f, q := s.finder(), s.query(slots.Auto)
			f.Archive = jobsAPI{Archive: f.Archive, jobs: tt.jobs, err: err}
			q.Job.Attempt, q.Job.ID, q.Job.Runner = 2, "later", "r2"
			want := tt.want
			if err != nil && tt.jobs != nil {
				want = ""
			}
			if found, err := f.Find(t.Context(), q); err != nil || found.JobStatus != want {
				t.Errorf("%s: got %+v, %v; want status %q", tt.name, found, err, want)
			}
		}
	}
}
