package artifacts

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// Archive reads the artifacts of all runs of a repository, by REST. The token
// needs actions: read.
type Archive struct {
	api     *forge.Client
	content downloads
}

// RunArtifact is an artifact as the REST API tells it, with where it comes from.
type RunArtifact struct {
	Artifact
	Expired bool
	RunID   int64
	// HeadBranch is the branch of the run; "" where the service does not say.
	HeadBranch string
	// HeadRepository and Repository are the ids of where the code of the run came
	// from and of where it ran; 0 where the service does not say.
	HeadRepository, Repository int64
}

// RunInfo is what the REST API tells of a workflow run.
type RunInfo struct {
	ID             int64
	URL            string // for people
	Event          string
	Status         string // "completed" when it is no longer in progress
	Path           string // of the workflow file, without a ref
	HeadBranch     string // "" where the service does not say
	HeadRepository int64
}

// NewArchive returns the archive of the client's repository. mask is told every
// secret that the service hands out, before it is used; nil for nobody.
func NewArchive(c *forge.Client, mask func(secret string)) *Archive {
	return &Archive{api: c, content: newDownloads(c.Retrier(), c.Transport(), mask)}
}

// Run returns what is known of a workflow run.
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

// Download writes the content of an artifact into f, as Runtime.Download does.
func (a *Archive) Download(ctx context.Context, s RunArtifact, limit int64, f *os.File) (int64, error) {
	signed := func(ctx context.Context) (string, *forge.Error) { return a.api.ArtifactURL(ctx, s.ID) }
	return a.content.fetch(ctx, wanted{digest: s.Digest, limit: limit, to: f}, signed)
}
