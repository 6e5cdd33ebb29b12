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
	HeadCommit     string // the same
	HeadRepository int64
	PullRequests   []int // by number, of those that the service knows
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
	var run workflowRun
	if err := a.get(ctx, "read workflow run", path, &run); err != nil {
		return RunInfo{}, err
	}
	info := run.info()
	info.ID = id
	return info, nil
}

// RunsAt returns the newest workflow runs whose code is the given commit.
func (a *Archive) RunsAt(ctx context.Context, commit string) ([]RunInfo, error) {
	path := fmt.Sprintf("repos/%s/%s/actions/runs?head_sha=%s&per_page=%d", url.PathEscape(a.owner), url.PathEscape(a.repo), url.QueryEscape(commit), perPage)
	var answer struct {
		Runs []workflowRun `json:"workflow_runs"`
	}
	if err := a.get(ctx, "list workflow runs", path, &answer); err != nil {
		return nil, err
	}
	var list []RunInfo
	for _, r := range answer.Runs {
		list = append(list, r.info())
	}
	return list, nil
}

// workflowRun is a run as the API tells it; the library lacks its path.
type workflowRun struct {
	github.WorkflowRun
	Path string `json:"path"`
}

func (r *workflowRun) info() RunInfo {
	file, _, _ := strings.Cut(r.Path, "@")
	info := RunInfo{
		ID: r.GetID(), URL: r.GetHTMLURL(), Event: r.GetEvent(), Status: r.GetStatus(), Path: file,
		HeadBranch: r.GetHeadBranch(), HeadCommit: r.GetHeadSHA(), HeadRepository: r.GetHeadRepository().GetID(),
	}
	for _, p := range r.PullRequests {
		info.PullRequests = append(info.PullRequests, p.GetNumber())
	}
	return info
}

// get makes one request of the API, with retries. Under act, where nobody may be
// there, one that gets no answer is made once more, and no more.
func (a *Archive) get(ctx context.Context, op, path string, to any) error {
	unanswered := 0
	return a.retry(ctx, op, func(ctx context.Context, _ *pace) answer {
		req, err := a.gh.NewRequest(http.MethodGet, path, nil)
		if err != nil {
			return answer{err: err, final: true}
		}
		var body bytes.Buffer // the library takes an empty answer for a good one
		resp, err := a.gh.Do(ctx, req, &body)
		if err == nil {
			err = json.Unmarshal(body.Bytes(), to)
		}
		told := judge(resp, err)
		if told.status == 0 && told.err != nil {
			unanswered++
			told.final = a.act && unanswered > 1
		}
		return told
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
	case errors.As(err, &rate), a.status == http.StatusForbidden && resp.Header.Get("X-RateLimit-Remaining") == "0":
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
	signed := func(ctx context.Context) (string, answer) {
		var address string
		u, resp, err := a.gh.Actions.DownloadArtifact(ctx, a.owner, a.repo, s.ID, 3)
		if err == nil {
			address = u.String()
		}
		return address, judge(resp, err)
	}
	return a.fetch(ctx, wanted{digest: s.Digest, limit: limit, to: f}, signed)
}
