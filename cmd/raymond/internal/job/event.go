package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The kinds of a Subject that has a number.
const (
	KindIssue       = "issue"
	KindPullRequest = "pr"
)

// Account is an account on the forge.
type Account struct {
	Login string
	Type  string // "User", "Bot", …; empty if the forge does not report it
}

// Subject is the issue or pull request, and the commit, that an event is about. Unknown fields are zero.
type Subject struct {
	Kind   string `json:"kind,omitempty"` // KindIssue or KindPullRequest; empty if Number is 0
	Number int    `json:"number,omitempty"`
	Title  string `json:"title,omitempty"` // at most maxTitle bytes
	// Head is the head commit of a pull request or a merge group, or the commit that was pushed. It is
	// empty for other events.
	Head string `json:"head,omitempty"`
}

// maxTitle is the maximum length of a title, in bytes. GitHub's own limit is 256 characters.
const maxTitle = 1 << 10

// CodeSource describes the origin of the code that an event is about.
type CodeSource struct {
	Fork  bool   // the code comes from another repository
	Known bool   // the payload contains the origin
	Head  string // the pull request's head branch, if it is in this repository
}

// Event describes the job and the event that started it. Fields that neither the payload nor the runner
// provides are zero.
type Event struct {
	RunID         int64  // id of the workflow run
	Attempt       int    // attempt of the workflow run; higher than 1 in a re-run
	Job           string // id of the job in the workflow file
	Step          string // id of the step
	Runner        string // the name of the machine
	Workflow      string // the result of WorkflowFile
	RepositoryURL string // URL of the repository, with a slash at its end
	IsActBased    bool   // act, or a runner based on it, such as Gitea's, runs the job
	IsGitea       bool

	Name string // name of the event, like "issue_comment"
	Subject
	Comment Comment // the comment or review of the event; its kind is empty if it can't be an answer
	// Dispatched is the value of the workflow's input raymond-key, for workflow_dispatch.
	Dispatched string

	Sender          Account
	UpstreamActors  []Account // for workflow_run: the accounts that caused the triggering run
	TriggeringActor string    // login of the account that started this attempt of the workflow run

	Repository Repository
	Branch     string // the pull request's head branch, or else the branch or tag of the job
	Code       CodeSource
}

// Repository is the repository of the job.
type Repository struct {
	ID            int64
	Name          string // in the form owner/name
	Private       *bool  // nil if unknown
	DefaultBranch string
}

// ReadEvent reads the event that started the job. A missing payload is an error only for events that
// any user can cause, because the user can't be authorized without a payload.
func ReadEvent(getenv func(string) string) (Event, error) {
	e := Event{
		Attempt: 1, Job: getenv("GITHUB_JOB"), Step: getenv("GITHUB_ACTION"), Runner: getenv("RUNNER_NAME"), Workflow: WorkflowFile(getenv),
		IsActBased: getenv("ACT") == "true", IsGitea: onGitea(getenv),
		Name: getenv("GITHUB_EVENT_NAME"), Repository: Repository{Name: getenv("GITHUB_REPOSITORY")}, TriggeringActor: getenv("GITHUB_TRIGGERING_ACTOR"),
	}
	e.RunID, _ = strconv.ParseInt(getenv("GITHUB_RUN_ID"), 10, 64) // 0 if the runner doesn't provide it
	if e.Name == "" {
		return e, errors.New("GITHUB_EVENT_NAME is not set; this command must be started by a CI runner")
	}
	if text := getenv("GITHUB_RUN_ATTEMPT"); text != "" {
		var err error
		if e.Attempt, err = strconv.Atoi(text); err != nil || e.Attempt < 1 {
			return e, fmt.Errorf("GITHUB_RUN_ATTEMPT: %q is not a number", shorten(text))
		}
	}
	p, err := readPayload(getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return e, fmt.Errorf("read the payload of event %s: %w", e.Name, err)
	}
	if p == nil && userEvents[e.Name] {
		return e, fmt.Errorf("the event %s has no payload; GITHUB_EVENT_PATH names no file", e.Name)
	}
	if p == nil {
		p = &payload{}
	}
	e.fill(p, getenv)
	if server := strings.TrimSuffix(getenv("GITHUB_SERVER_URL"), "/"); server != "" && e.Repository.Name != "" {
		e.RepositoryURL = server + "/" + e.Repository.Name + "/"
	}
	if id, err := strconv.ParseInt(getenv("GITHUB_REPOSITORY_ID"), 10, 64); err == nil && id != 0 {
		e.Repository.ID = id
	}
	return e, nil
}

// onGitea reports whether the job runs on Gitea Actions.
func onGitea(getenv func(string) string) bool { return getenv("GITEA_ACTIONS") == "true" }

// fill sets the fields of the event from its payload. Some fields come from the environment instead,
// because the runner's values are more reliable.
func (e *Event) fill(p *payload, getenv func(string) string) {
	e.Sender = p.Sender
	for _, a := range []Account{p.WorkflowRun.Actor, p.WorkflowRun.TriggeringActor} {
		if a.Login != "" && e.Name == "workflow_run" {
			e.UpstreamActors = append(e.UpstreamActors, a)
		}
	}
	from := p.Repository
	e.Repository = Repository{ID: int64(from.ID), Name: cmp.Or(e.Repository.Name, from.FullName), Private: from.Private, DefaultBranch: from.DefaultBranch}
	e.Subject = p.subject()
	e.Head = cmp.Or(p.PullRequest.head().SHA, p.MergeGroup.HeadSHA)
	if e.Name == "push" {
		e.Head = p.After
	}
	if strings.Trim(e.Head, "0") == "" { // all zeros: the branch was deleted
		e.Head = ""
	}
	if e.Name == "workflow_dispatch" {
		e.Dispatched = p.Inputs.Key
	}
	e.Comment = p.comment(e.Name, e.Number)
	e.Code = p.code(e.Name)
	e.Branch = cmp.Or(
		getenv("GITHUB_HEAD_REF"), p.PullRequest.head().Ref, getenv("GITHUB_REF_NAME"), strings.TrimPrefix(getenv("GITHUB_REF"), "refs/heads/"))
}

// IsUnderAct reports whether act itself runs the job. The artifact service of act is simpler, and with
// act there are no earlier workflow runs.
func (e *Event) IsUnderAct() bool { return e.IsActBased && !e.IsGitea }

// IsFromFork reports whether the event comes from a fork. Runs of such events are never resumed.
func (e *Event) IsFromFork() bool {
	return e.Code.Fork && (strings.HasPrefix(e.Name, "pull_request") || e.Name == "workflow_run")
}

// IsAboutHead reports whether the event is about its head commit. Such an event supersedes a run about
// another head commit. Comments and reviews continue a run, whatever its head commit is.
func (e *Event) IsAboutHead() bool {
	return e.Head != "" && slices.Contains([]string{"push", "merge_group", "pull_request", "pull_request_target"}, e.Name)
}

// StepID returns an id of this step in this attempt of the workflow run. No other step has the same id.
func (e *Event) StepID() string {
	return fmt.Sprintf("%d/%d/%s/%s", e.RunID, e.Attempt, e.Job, e.Step)
}

// RunURL returns the URL of a workflow run. It returns "" if the URL is unknown.
func (e *Event) RunURL(run int64) string {
	if e.RepositoryURL == "" || run == 0 {
		return ""
	}
	return e.RepositoryURL + "actions/runs/" + strconv.FormatInt(run, 10)
}
