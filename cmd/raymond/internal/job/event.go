package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What an event's number counts.
const (
	KindIssue       = "issue"
	KindPullRequest = "pr"
)

// Account is somebody on the forge.
type Account struct {
	Login string
	Type  string // "User", "Bot", …; "" where the forge does not say
}

// Subject is the issue or pull request, and the commit, that an event is about; zero for none.
type Subject struct {
	Kind   string `json:"kind,omitempty"` // KindIssue or KindPullRequest, "" without a number
	Number int    `json:"number,omitempty"`
	Title  string `json:"title,omitempty"` // at most maxTitle bytes
	// Head is the id of the head commit of a pull request or a merge group, or of the commit
	// that was pushed; "" for none.
	Head string `json:"head,omitempty"`
}

// maxTitle is how much of a title is kept, in bytes: GitHub's own limit is 256 characters.
const maxTitle = 1 << 10

// CodeSource says where the code comes from that an event is about.
type CodeSource struct {
	Fork  bool   // from another repository
	Known bool   // false: the payload doesn't tell
	Head  string // branch of this repository that is the pull request's head; "" for none or not known
}

// Event is the job and what started it, as the payload and the runner tell it. What
// neither tells is zero.
type Event struct {
	RunID         int64  // of the workflow run
	Attempt       int    // of the workflow run: 1, and more in a re-run
	Job           string // its id in the workflow file
	Step          string // the id of the step
	Runner        string // the name of the machine
	Workflow      string // the workflow file: see WorkflowFile
	RepositoryURL string // the address of the repository, with a slash at its end
	IsActBased    bool   // act runs the job, or what is made of it, as Gitea's runner is
	IsGitea       bool

	Name string // such as "issue_comment"
	Subject
	Comment Comment // what was said; its kind is empty where nothing was that could be an answer
	// Dispatched is what a workflow_dispatch has in its input raymond-key.
	Dispatched string

	Sender          Account
	UpstreamActors  []Account // of a workflow_run: who caused the run before
	TriggeringActor string    // login of who started this attempt

	Repository Repository
	Branch     string // of the pull request's head, else the branch or tag of the job
	Code       CodeSource
}

// Repository is the repository of the job.
type Repository struct {
	ID            int64
	Name          string // owner/name
	Private       *bool  // nil: not known
	DefaultBranch string
}

// ReadEvent reads the event that started the job. A payload that isn't there is
// an error for events of people only, which can't be authorized without one.
func ReadEvent(getenv func(string) string) (Event, error) {
	e := Event{
		Attempt: 1, Job: getenv("GITHUB_JOB"), Step: getenv("GITHUB_ACTION"), Runner: getenv("RUNNER_NAME"), Workflow: WorkflowFile(getenv),
		IsActBased: getenv("ACT") == "true", IsGitea: onGitea(getenv),
		Name: getenv("GITHUB_EVENT_NAME"), Repository: Repository{Name: getenv("GITHUB_REPOSITORY")}, TriggeringActor: getenv("GITHUB_TRIGGERING_ACTOR"),
	}
	e.RunID, _ = strconv.ParseInt(getenv("GITHUB_RUN_ID"), 10, 64) // 0 where the runner doesn't say
	if e.Name == "" {
		return e, errors.New("GITHUB_EVENT_NAME is not set; this is to be started by a CI runner")
	}
	if text := getenv("GITHUB_RUN_ATTEMPT"); text != "" {
		var err error
		if e.Attempt, err = strconv.Atoi(text); err != nil || e.Attempt < 1 {
			return e, fmt.Errorf("GITHUB_RUN_ATTEMPT: %q is no number", shorten(text))
		}
	}
	p, err := readPayload(getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return e, fmt.Errorf("read the payload of event %s: %w", e.Name, err)
	}
	if p == nil && ofPeople[e.Name] {
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

func onGitea(getenv func(string) string) bool { return getenv("GITEA_ACTIONS") == "true" }

// fill takes what the event needs from its payload and, where the runner knows
// better, from the environment.
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
	if strings.Trim(e.Head, "0") == "" { // a deleted branch
		e.Head = ""
	}
	if e.Name == "workflow_dispatch" {
		e.Dispatched = p.Inputs.Key
	}
	e.Comment = p.remark(e.Name, e.Number)
	e.Code = p.code(e.Name)
	e.Branch = cmp.Or(
		getenv("GITHUB_HEAD_REF"), p.PullRequest.head().Ref, getenv("GITHUB_REF_NAME"), strings.TrimPrefix(getenv("GITHUB_REF"), "refs/heads/"))
}

// IsUnderAct reports whether act itself runs the job: its artifact service is simpler, and it has no earlier runs.
func (e *Event) IsUnderAct() bool { return e.IsActBased && !e.IsGitea }

// IsFromFork reports whether the event is a fork's, whose runs nobody resumes.
func (e *Event) IsFromFork() bool {
	return e.Code.Fork && (strings.HasPrefix(e.Name, "pull_request") || e.Name == "workflow_run")
}

// IsAboutHead reports whether the event is about a commit, its head, so that it supersedes a run about another head.
// Comments and reviews continue a run, whatever its head is.
func (e *Event) IsAboutHead() bool {
	return e.Head != "" && slices.Contains([]string{"push", "merge_group", "pull_request", "pull_request_target"}, e.Name)
}

// StepID distinguishes the step from all others.
func (e *Event) StepID() string {
	return fmt.Sprintf("%d/%d/%s/%s", e.RunID, e.Attempt, e.Job, e.Step)
}

// RunURL is where people see a workflow run; "" where that is not known.
func (e *Event) RunURL(run int64) string {
	if e.RepositoryURL == "" || run == 0 {
		return ""
	}
	return e.RepositoryURL + "actions/runs/" + strconv.FormatInt(run, 10)
}
