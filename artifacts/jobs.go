package artifacts

import (
	"context"
	"fmt"
)

// JobInfo is what the REST API tells of a job.
type JobInfo struct {
	Name    string `json:"name"`        // as it is shown: the job's id, unless the workflow file gives it a name
	Runner  string `json:"runner_name"` // that has it; "" for none yet
	Attempt int    `json:"run_attempt"` // of the workflow run; 0 where the service does not say
	Status  string `json:"status"`      // "completed" when it is no longer in progress
	Started string `json:"started_at"`  // RFC 3339; "" where the service does not say
}

// maxJobPages is how many pages of jobs are read at most.
const maxJobPages = 10

// Jobs returns the jobs of all attempts of a workflow run.
func (a *Archive) Jobs(ctx context.Context, run int64) ([]JobInfo, error) {
	var all []JobInfo
	for n := 1; n <= maxJobPages; n++ {
		var answer struct {
			Total int       `json:"total_count"`
			Jobs  []JobInfo `json:"jobs"`
		}
		path := fmt.Sprintf("actions/runs/%d/jobs?filter=all&per_page=%d&limit=%[2]d&page=%d", run, perPage, n)
		if err := a.api.Get(ctx, "list jobs", path, &answer); err != nil {
			return nil, err
		}
		all = append(all, answer.Jobs...)
		if len(answer.Jobs) == 0 || len(all) >= answer.Total {
			break
		}
	}
	return all, nil
}
