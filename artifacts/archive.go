package artifacts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/google/go-github/v60/github"
)

// Archive reads the artifacts of all runs of a repository, by REST. The token
// needs actions: read.
type Archive struct {
	client
	gh          *github.Client
	owner, repo string
}

// Stored is an artifact as the REST API tells it, with where it comes from.
type Stored struct {
	Artifact
	Expired bool
	RunID   int64
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

// NewArchive returns the archive of the repository "owner/name".
func NewArchive(o Options, repository string) (*Archive, error) {
	owner, repo, ok := strings.Cut(repository, "/")
	if !ok || owner == "" || repo == "" || strings.Contains(repo, "/") {
		return nil, fmt.Errorf("%q is no repository of the form owner/name", repository)
	}
	base, err := url.Parse(strings.TrimRight(o.URL, "/") + "/")
	if err != nil || base.Host == "" {
		return nil, errors.New("the address of the API is no URL")
	}
	a := &Archive{client: o.client(), owner: owner, repo: repo}
	a.gh = github.NewClient(a.http)
	if o.Token != "" {
		a.gh = a.gh.WithAuthToken(o.Token)
	}
	a.gh.BaseURL = base
	return a, nil
}

// Run returns what is known of a workflow run.
func (a *Archive) Run(ctx context.Context, id int64) (RunInfo, error) {
	path := fmt.Sprintf("repos/%s/%s/actions/runs/%d", url.PathEscape(a.owner), url.PathEscape(a.repo), id)
	var run struct {
		github.WorkflowRun
		Path string `json:"path"`
	}
	if err := a.get(ctx, "read workflow run", path, &run); err != nil {
		return RunInfo{}, err
	}
	file, _, _ := strings.Cut(run.Path, "@")
	return RunInfo{
		ID: id, URL: run.GetHTMLURL(), Event: run.GetEvent(), Status: run.GetStatus(), Path: file,
		HeadBranch: run.GetHeadBranch(), HeadRepository: run.GetHeadRepository().GetID(),
	}, nil
}

// get makes one request of the API, with retries.
func (a *Archive) get(ctx context.Context, op, path string, to any) error {
	return a.retry(ctx, op, func(ctx context.Context) answer {
		req, err := a.gh.NewRequest(http.MethodGet, path, nil)
		if err != nil {
			return answer{err: err, final: true}
		}
		var body bytes.Buffer // the library takes an empty answer for a good one
		resp, err := a.gh.Do(ctx, req, &body)
		if err == nil {
			err = json.Unmarshal(body.Bytes(), to)
		}
		return judge(resp, err)
	})
}

// judge says what an answer of the API means.
func judge(resp *github.Response, err error) answer {
	var rate *github.RateLimitError
	var abuse *github.AbuseRateLimitError
	a := answer{err: err}
	if resp != nil {
		a.status, a.wait = resp.StatusCode, retryAfter(resp.Header)
		a.final = !retryable(resp.StatusCode)
	}
	switch {
	case err == nil:
	case errors.As(err, &rate):
		a.status, a.final, a.err = http.StatusTooManyRequests, false, errors.New("the rate limit is used up")
	case errors.As(err, &abuse):
		a.status, a.final, a.err = http.StatusTooManyRequests, false, errors.New("the secondary rate limit is reached")
		if abuse.RetryAfter != nil {
			a.wait = *abuse.RetryAfter
		}
	case a.status == http.StatusNotFound || a.status == http.StatusGone:
		a.err = ErrNotFound
	case a.status/100 == 2:
		a.final, a.err = false, errors.New("the answer is cut off, or not the JSON that was asked for")
	case a.status != 0:
		a.err = errors.New(http.StatusText(a.status))
	}
	return a
}

// Download writes the content of an artifact into f, as Runtime.Download does.
func (a *Archive) Download(ctx context.Context, s Stored, limit int64, f *os.File) (int64, error) {
	signed := func(ctx context.Context) (string, error) {
		var address string
		err := a.retry(ctx, "fetch artifact", func(ctx context.Context) answer {
			u, resp, err := a.gh.Actions.DownloadArtifact(ctx, a.owner, a.repo, s.ID, 3)
			if err == nil {
				address = u.String()
			}
			return judge(resp, err)
		})
		return address, err
	}
	return a.fetch(ctx, wanted{s.Digest, limit, f}, signed)
}
