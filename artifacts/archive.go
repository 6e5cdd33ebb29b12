package artifacts

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// Archive is a client of the REST API that reads the artifacts of all workflow runs of a repository. Its
// token needs the permission actions: read.
type Archive struct {
	api     *forge.Client
	content downloader
}

// RunArtifact is an artifact as the REST API reports it, with its workflow run.
type RunArtifact struct {
	Artifact
	Expired bool
	RunID   int64
	// HeadBranch is the branch of the workflow run. It is empty if the service doesn't report it.
	HeadBranch string
	// HeadRepository is the id of the repository that contains the workflow run's code. Repository is the
	// id of the repository in which the workflow run ran. They are 0 if the service doesn't report them.
	HeadRepository, Repository int64
}

// RunInfo describes a workflow run as the REST API reports it.
type RunInfo struct {
	ID             int64
	URL            string // URL of the web page about the workflow run
	Event          string
	Status         string // "completed" if no job is queued or running
	Path           string // path of the workflow file, without a ref
	HeadBranch     string // empty if the service doesn't report it
	HeadRepository int64
}

// NewArchive returns the Archive of the client's repository. mask is called with each secret that the
// service sends, before the secret is used. It may be nil.
func NewArchive(c *forge.Client, mask func(secret string)) *Archive {
	return &Archive{api: c, content: newDownloader(c.Retrier(), c.Transport(), mask)}
}

// Run requests a workflow run from the API.
func (a *Archive) Run(ctx context.Context, id int64) (RunInfo, error) {
	var run struct {
		URL            string `json:"html_url"`
		Event          string
		Status         string
		Path           string
		HeadBranch     string             `json:"head_branch"`
		HeadRepository struct{ ID int64 } `json:"head_repository"`
	}
	if err := a.api.Get(ctx, "read workflow run", fmt.Sprintf("actions/runs/%d", id), &run); err != nil {
		return RunInfo{}, err
	}
	file, _, _ := strings.Cut(run.Path, "@")
	return RunInfo{
		ID: id, URL: run.URL, Event: run.Event, Status: run.Status, Path: file, HeadBranch: run.HeadBranch, HeadRepository: run.HeadRepository.ID,
	}, nil
}

// Download writes the content of an artifact to f. It has the same effects and errors as Runtime.Download.
func (a *Archive) Download(ctx context.Context, s RunArtifact, limit int64, f *os.File) (int64, error) {
	signed := func(ctx context.Context) (string, *forge.Error) { return a.api.ArtifactURL(ctx, s.ID) }
	return a.content.fetch(ctx, s.Digest, limit, f, signed)
}

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
