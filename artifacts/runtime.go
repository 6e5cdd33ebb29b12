package artifacts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// Options are what a Runtime needs.
type Options struct {
	URL   string // ACTIONS_RESULTS_URL
	Token string // ACTIONS_RUNTIME_TOKEN
	// Act says that the results service is act's: a connection that it drops when it
	// is asked for a list means that there is nothing, and is not tried again.
	Act bool
	// Mask is told every secret that the service hands out, before it is used; nil
	// for nobody.
	Mask      func(secret string)
	Retrier   forge.Retrier
	Transport http.RoundTripper // nil for the machine's
}

// Runtime is the results service of the present job. It may be used by many
// goroutines.
type Runtime struct {
	http        *http.Client
	calls       forge.Retrier
	content     downloads
	base, token string
	run, job    string
	act         bool
}

// NewRuntime returns the service that a job's own token speaks for. The token
// names the run and the job; its signature is the service's matter.
func NewRuntime(o Options) (*Runtime, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, errors.New("the address of the results service is no URL")
	}
	run, job, err := scopes(o.Token)
	if err != nil {
		return nil, fmt.Errorf("token of the results service: %w", err)
	}
	// The address may have a path, which the service does not route.
	return &Runtime{http: &http.Client{Transport: o.Transport}, calls: o.Retrier, content: newDownloads(o.Retrier, o.Transport, o.Mask),
		base: u.Scheme + "://" + u.Host, token: o.Token, run: run, job: job, act: o.Act}, nil
}

// Job is the id that the service knows the job by, which no two jobs share but under
// act.
func (r *Runtime) Job() string { return r.job }

// scopes reads the ids of run and job from the claims of a token.
func scopes(token string) (run, job string, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", errors.New("it is no JSON web token")
	}
	var claims struct {
		Scopes string `json:"scp"`
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(data, &claims) != nil {
		return "", "", errors.New("its claims are not JSON in base64")
	}
	for _, s := range strings.Fields(claims.Scopes) {
		if ids := strings.Split(s, ":"); len(ids) == 3 && ids[0] == "Actions.Results" {
			return ids[1], ids[2], nil
		}
	}
	return "", "", errors.New("it has no scope for results")
}

const (
	service       = "/twirp/github.actions.results.api.v1.ArtifactService/"
	listArtifacts = "ListArtifacts"
)

// request is one request of the service.
type request struct {
	op     string // for errors
	method string
	body   map[string]any
}

// call makes a request of the service and reads the answer into to.
func (r *Runtime) call(ctx context.Context, q request, to any) error {
	return r.calls.Do(ctx, forge.Steady, q.op, func(ctx context.Context, _ *forge.Progress) *forge.Error { return r.once(ctx, q, to) })
}

// once makes one attempt at a request.
func (r *Runtime) once(ctx context.Context, q request, to any) *forge.Error {
	data, err := json.Marshal(q.body)
	if err != nil {
		return forge.Permanent(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+service+q.method, bytes.NewReader(data))
	if err != nil {
		return forge.Permanent(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := r.http.Do(req)
	if err != nil {
		e := forge.NoAnswer(0, err)
		if r.act && q.method == listArtifacts && (errors.Is(err, io.EOF) || strings.HasSuffix(err.Error(), "EOF")) {
			e.Kind = forge.Missing // act drops the connection while a run has no artifact
		}
		return e
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return forge.NoAnswer(resp.StatusCode, err)
	}
	return readAnswer(resp, text, to)
}

// readAnswer says what an answer of the service means, and reads a good one into to.
func readAnswer(resp *http.Response, text []byte, to any) *forge.Error {
	e := forge.ResponseError(resp)
	if e == nil {
		// Names of fields come in snake case from some services, in camel case from others.
		err := jsonv2.Unmarshal(text, to, jsonv2.MatchCaseInsensitiveNames(true))
		if err != nil {
			return forge.NoAnswer(resp.StatusCode, errors.New("the answer is not the JSON that was asked for"))
		}
		return nil
	}
	var told struct {
		Msg string `json:"msg"`
	}
	_ = json.Unmarshal(text, &told) // not every answer has words
	switch {
	case strings.Contains(told.Msg, "insufficient usage"):
		e.Err, e.Final = ErrQuota, true
	case resp.StatusCode == http.StatusConflict:
		e.Err = ErrExists
	case told.Msg != "":
		e.Err = forge.Message(told.Msg)
	}
	return e
}

// number is an int64 that services write as a number or as a string.
type number int64

func (n *number) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 64)
	*n = number(v)
	return err
}

// ids are the fields that name run and job in a request.
func ids(run, job string) map[string]any {
	return map[string]any{"workflow_run_backend_id": run, "workflow_job_run_backend_id": job}
}

// List returns the artifacts of the present workflow run, newest first; only
// those of the given name unless it is empty.
func (r *Runtime) List(ctx context.Context, name string) ([]Artifact, error) {
	var out listing
	err := r.call(ctx, r.lists(name), &out)
	if err != nil && !forge.IsMissing(err) { // Gitea finds nothing while a run has no artifact
		return nil, err
	}
	return out.named(name), nil
}

// lists is the request for a list.
func (r *Runtime) lists(name string) request {
	body := ids(r.run, r.job)
	if name != "" {
		body["name_filter"] = name
	}
	return request{"list artifacts", listArtifacts, body}
}

// listing is the answer to it.
type listing struct {
	Artifacts []struct {
		Run     string    `json:"workflow_run_backend_id"`
		Job     string    `json:"workflow_job_run_backend_id"`
		ID      number    `json:"database_id"`
		Name    string    `json:"name"`
		Size    number    `json:"size"`
		Created time.Time `json:"created_at"`
		Digest  string    `json:"digest"`
	} `json:"artifacts"`
}

// named are the artifacts of a name, or all for "", newest first.
func (l *listing) named(name string) []Artifact {
	var list []Artifact
	for _, a := range l.Artifacts {
		if name == "" || a.Name == name {
			list = append(list, Artifact{ID: int64(a.ID), Name: a.Name, Size: int64(a.Size), Digest: a.Digest,
				Created: a.Created, run: a.Run, job: a.Job})
		}
	}
	slices.SortFunc(list, func(a, b Artifact) int { return cmp.Compare(b.ID, a.ID) }) // the order of the services differs
	return list
}

// Delete removes an artifact that List returned.
func (r *Runtime) Delete(ctx context.Context, a Artifact) error {
	body := ids(a.run, a.job)
	body["name"] = a.Name
	var out struct {
		OK bool `json:"ok"`
	}
	if err := r.call(ctx, request{"delete artifact", "DeleteArtifact", body}, &out); err != nil {
		return err
	}
	if !out.OK {
		return &forge.Error{Op: "delete artifact", Kind: forge.Refused, Status: http.StatusOK, Attempts: 1, Err: errors.New("the service says no")}
	}
	return nil
}

// Download writes the content of an artifact that List returned into f, from its
// beginning, and returns its size. It fails with ErrTooLarge beyond limit bytes,
// and with ErrDigest when the service names a digest and the content has another.
func (r *Runtime) Download(ctx context.Context, a Artifact, limit int64, f *os.File) (int64, error) {
	body := ids(a.run, a.job)
	body["name"] = a.Name
	signed := func(ctx context.Context) (string, *forge.Error) {
		var out struct {
			URL string `json:"signed_url"`
		}
		e := r.once(ctx, request{"fetch artifact", "GetSignedArtifactURL", body}, &out)
		return out.URL, e
	}
	return r.content.fetch(ctx, wanted{digest: a.Digest, limit: limit, to: f}, signed)
}
