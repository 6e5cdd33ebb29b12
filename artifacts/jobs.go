package artifacts

import (
	"context"
	"fmt"
)

// JobInfo describes a job as the REST API reports it.
type JobInfo struct {
	Name    string `json:"name"`        // display name: the job's id, unless the workflow file sets a name
	Runner  string `json:"runner_name"` // name of the job's runner; empty if no runner has picked up the job
	Attempt int    `json:"run_attempt"` // attempt of the workflow run; 0 if the service doesn't report it
	Status  string `json:"status"`      // "completed" if it is neither queued nor running
	Started string `json:"started_at"`  // time in RFC 3339; empty if the service doesn't report it
}

// maxJobPages is the maximum number of pages of jobs that are read.
const maxJobPages = 10

// Jobs returns the jobs of all attempts of a workflow run. Jobs after the tenth page are omitted.
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
