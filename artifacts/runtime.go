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

// Options are the settings of a Runtime.
type Options struct {
	URL   string // value of ACTIONS_RESULTS_URL
	Token string // value of ACTIONS_RUNTIME_TOKEN
	// Act means that the results service is part of act. If a list of artifacts is empty, act drops the
	// connection instead of answering. With Act, a dropped connection therefore means an empty list.
	Act bool
	// Mask is called with each secret that the service sends, before the secret is used. It may be nil.
	Mask      func(secret string)
	Retrier   forge.Retrier
	Transport http.RoundTripper // if nil, http.DefaultTransport
}

// Runtime is a client of the results service of the current job. It is safe for concurrent use.
type Runtime struct {
	http        *http.Client
	calls       forge.Retrier
	content     downloader
	base, token string
	run, job    string
	act         bool
}

// NewRuntime returns a client for the job that the token belongs to. It reads the ids of the workflow run
// and the job from the token. It doesn't check the token's signature, which the service does.
func NewRuntime(o Options) (*Runtime, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, errors.New("the address of the results service is not a URL")
	}
	run, job, err := tokenIDs(o.Token)
	if err != nil {
		return nil, fmt.Errorf("token of the results service: %w", err)
	}
	// The address may have a path, which the service doesn't accept in requests.
	return &Runtime{http: &http.Client{Transport: o.Transport}, calls: o.Retrier, content: newDownloader(o.Retrier, o.Transport, o.Mask),
		base: u.Scheme + "://" + u.Host, token: o.Token, run: run, job: job, act: o.Act}, nil
}

// Job returns the job's id in the results service. These ids are unique, except under act.
func (r *Runtime) Job() string { return r.job }

// tokenIDs reads the ids of the workflow run and the job from the claims of a token.
func tokenIDs(token string) (run, job string, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", errors.New("not a JSON web token")
	}
	var claims struct {
		Scopes string `json:"scp"`
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(data, &claims) != nil {
		return "", "", errors.New("the claims are not JSON in base64")
	}
	for _, s := range strings.Fields(claims.Scopes) {
		if ids := strings.Split(s, ":"); len(ids) == 3 && ids[0] == "Actions.Results" {
			return ids[1], ids[2], nil
		}
	}
	return "", "", errors.New("no scope for results")
}

const (
	service       = "/twirp/github.actions.results.api.v1.ArtifactService/"
	listArtifacts = "ListArtifacts"
)

// do makes a request to the service, with retries, and decodes the answer into to. op is the name of the
// operation in error messages.
func (r *Runtime) do(ctx context.Context, op, method string, body map[string]any, to any) error {
	return r.calls.Do(ctx, forge.Steady, op, func(ctx context.Context, _ *forge.Progress) *forge.Error {
		return r.once(ctx, method, body, to)
	})
}

// once makes one attempt at a request. If the answer reports an error, once returns that error.
func (r *Runtime) once(ctx context.Context, method string, body map[string]any, to any) *forge.Error {
	data, err := json.Marshal(body)
	if err != nil {
		return forge.Permanent(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+service+method, bytes.NewReader(data))
	if err != nil {
		return forge.Permanent(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := r.http.Do(req)
	if err != nil {
		e := forge.NoAnswer(0, err)
		if r.act && method == listArtifacts && (errors.Is(err, io.EOF) || strings.HasSuffix(err.Error(), "EOF")) {
			e.Kind = forge.Missing // act drops the connection if the run has no artifacts
		}
		return e
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return forge.NoAnswer(resp.StatusCode, err)
	}
	e := forge.ResponseError(resp)
	if e == nil {
		// Some services use snake case for field names, others camel case.
		err := jsonv2.Unmarshal(text, to, jsonv2.MatchCaseInsensitiveNames(true))
		if err != nil {
			return forge.NoAnswer(resp.StatusCode, errors.New("the answer is not the expected JSON"))
		}
		return nil
	}
	var failure struct {
		Msg string `json:"msg"`
	}
	_ = json.Unmarshal(text, &failure) // some answers have no message
	switch {
	case strings.Contains(failure.Msg, "insufficient usage"):
		e.Err, e.Final = ErrQuota, true
	case resp.StatusCode == http.StatusConflict:
		e.Err = ErrExists
	case failure.Msg != "":
		e.Err = forge.Message(failure.Msg)
	}
	return e
}

// number is an int64 that some services encode as a string.
type number int64

func (n *number) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 64)
	*n = number(v)
	return err
}

// ids returns the fields of a request that identify the workflow run and the job.
func ids(run, job string) map[string]any {
	return map[string]any{"workflow_run_backend_id": run, "workflow_job_run_backend_id": job}
}

// List returns the artifacts of the current workflow run, newest first. If name is not empty, it
// returns only artifacts with that name.
func (r *Runtime) List(ctx context.Context, name string) ([]Artifact, error) {
	var out listResponse
	err := r.do(ctx, "list artifacts", listArtifacts, r.listBody(name), &out)
	if err != nil && !forge.IsMissing(err) { // Gitea answers with status 404 if the workflow run has no artifacts
		return nil, err
	}
	return out.withName(name), nil
}

// listBody returns the body of a request for the artifacts with a name or, if name is empty, for all artifacts.
func (r *Runtime) listBody(name string) map[string]any {
	body := ids(r.run, r.job)
	if name != "" {
		body["name_filter"] = name
	}
	return body
}

// listResponse is the answer to a request for a list of artifacts.
type listResponse struct {
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

// withName returns the artifacts with a name, newest first. If name is empty, it returns all artifacts.
func (l *listResponse) withName(name string) []Artifact {
	var list []Artifact
	for _, a := range l.Artifacts {
		if name == "" || a.Name == name {
			list = append(list, Artifact{ID: int64(a.ID), Name: a.Name, Size: int64(a.Size), Digest: a.Digest,
				Created: a.Created, run: a.Run, job: a.Job})
		}
	}
	slices.SortFunc(list, func(a, b Artifact) int { return cmp.Compare(b.ID, a.ID) }) // the order differs between services
	return list
}

// Delete deletes an artifact that List returned.
func (r *Runtime) Delete(ctx context.Context, a Artifact) error {
	body := ids(a.run, a.job)
	body["name"] = a.Name
	var out struct {
		OK bool `json:"ok"`
	}
	if err := r.do(ctx, "delete artifact", "DeleteArtifact", body, &out); err != nil {
		return err
	}
	if !out.OK {
		return &forge.Error{Op: "delete artifact", Kind: forge.Refused, Status: http.StatusOK, Attempts: 1, Err: errors.New("the service refused")}
	}
	return nil
}

// Download writes the content of an artifact that List returned to f and returns the content's size. It
// overwrites f. The error is ErrTooLarge if the content has more than limit bytes, and ErrDigest if the
// content doesn't match the digest that the service reported.
func (r *Runtime) Download(ctx context.Context, a Artifact, limit int64, f *os.File) (int64, error) {
	body := ids(a.run, a.job)
	body["name"] = a.Name
	signed := func(ctx context.Context) (string, *forge.Error) {
		var out struct {
			URL string `json:"signed_url"`
		}
		e := r.once(ctx, "GetSignedArtifactURL", body, &out)
		return out.URL, e
	}
	return r.content.fetch(ctx, a.Digest, limit, f, signed)
}
