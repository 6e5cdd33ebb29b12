package slots

import (
	"context"
	"os"

	"github.com/raymond-action/raymond-action/artifacts"
)

// Service is the results service of the present workflow run, implemented by artifacts.Runtime. Its
// methods may be called concurrently.
type Service interface {
	Upload(context.Context, artifacts.NewArtifact) (artifacts.Artifact, error)
	List(ctx context.Context, name string) ([]artifacts.Artifact, error)
	Delete(context.Context, artifacts.Artifact) error
	Download(ctx context.Context, a artifacts.Artifact, limit int64, f *os.File) (int64, error)
}

// Archive is the REST API, implemented by artifacts.Archive. Its methods may be called
// concurrently.
type Archive interface {
	List(name string) artifacts.NextPage
	ListRun(run int64) artifacts.NextPage
	ListAll(most int) artifacts.NextPage
	Run(ctx context.Context, id int64) (artifacts.RunInfo, error)
	Jobs(ctx context.Context, run int64) ([]artifacts.JobInfo, error)
	Download(ctx context.Context, s artifacts.RunArtifact, limit int64, f *os.File) (int64, error)
}
