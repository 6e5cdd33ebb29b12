package job

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxPayload is the largest event payload, in bytes: GitHub's own limit.
const maxPayload = 25 << 20

// payload are the fields of an event's JSON that are read. A field that a forge omits, or whose type
// is not the usual one, is zero.
type payload struct {
	Sender     Account
	Repository struct {
		repository
		Private       *bool
		DefaultBranch string `json:"default_branch"`
	}
	IsPull bool `json:"is_pull"`
	Issue  struct {
		Number      whole
		Title       string
		PullRequest any `json:"pull_request"`
	}
	PullRequest *pull `json:"pull_request"`
	WorkflowRun struct {
		HeadRepository  repository `json:"head_repository"`
		Actor           Account
		TriggeringActor Account `json:"triggering_actor"`
	} `json:"workflow_run"`
	Comment, Review apiComment
	Inputs          struct {
		Key string `json:"raymond-key"`
	}
	MergeGroup struct {
		HeadSHA string `json:"head_sha"`
	} `json:"merge_group"`
	After string // of a push: the commit that the branch or tag points to now
}

// whole is a whole number of a payload. The runner writes large ones as fractions, like 3000000001.0.
type whole int64

// UnmarshalJSON implements json.Unmarshaler. Anything but a whole number is zero.
func (w *whole) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(data), 64)
	if *w = 0; err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		*w = whole(f)
	}
	return nil
}

type repository struct {
	ID       whole
	FullName string `json:"full_name"`
}

// pull is a pull request.
type pull struct {
	Number whole
	Title  string
	Head   *side
	Base   side
}

// side is the head or the base of a pull request.
type side struct {
	Ref  string
	SHA  string
	Repo repository
}

// head returns the head of a pull request; zero if it is unknown.
func (p *pull) head() side {
	if p == nil || p.Head == nil {
		return side{}
	}
	return *p.Head
}

// isFork reports whether the head is in another, deleted or unnamed repository.
func (p *pull) isFork() bool { return p == nil || !isSame(p.head().Repo, p.Base.Repo) }

// readPayload reads a payload; nil without a payload.
func readPayload(path string) (*payload, error) {
	if path == "" {
		return nil, nil
	}
	data, err := files.ReadTarget(path, maxPayload)
	if errors.Is(err, os.ErrNotExist) || err == nil && strings.TrimSpace(string(data)) == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var p *payload
	err = json.Unmarshal(data, &p)
	var other *json.UnmarshalTypeError
	switch {
	case err != nil && !(errors.As(err, &other) && other.Field != ""): // otherwise a field has an unusual type, and the rest has been read
		return nil, err
	case p == nil:
		return nil, errors.New("it is not a JSON object")
	}
	return p, nil
}

// PayloadText returns the values of an event payload at paths like issue.body, separated by blank
// lines; "" for none. Only numbers and text that isn't blank count.
func PayloadText(file string, paths []string) (string, error) {
	data, err := files.ReadTarget(file, maxPayload)
	var payload any
	if err == nil {
		err = json.Unmarshal(data, &payload)
	}
	var found []string
	for _, path := range paths {
		at := payload
		for name := range strings.SplitSeq(path, ".") {
			fields, _ := at.(map[string]any)
			at = fields[name]
		}
		if n, ok := at.(float64); ok {
			at = strconv.FormatFloat(n, 'f', -1, 64)
		}
		if text, _ := at.(string); strings.TrimSpace(text) != "" {
			found = append(found, strings.TrimSpace(text))
		}
	}
	return strings.Join(found, "\n\n"), err
}

// subject returns the issue or pull request that the event is about.
func (p *payload) subject() Subject {
	s := Subject{Kind: KindIssue, Number: int(p.Issue.Number), Title: p.Issue.Title}
	if p.IsPull || p.Issue.PullRequest != nil {
		s.Kind = KindPullRequest
	}
	if pr := p.PullRequest; pr != nil && pr.Number != 0 {
		s = Subject{Kind: KindPullRequest, Number: int(pr.Number), Title: pr.Title}
	}
	if s.Number <= 0 {
		return Subject{}
	}
	s.Title = text.Prefix(s.Title, maxTitle)
	return s
}

// code returns the origin of the code that the event is about.
func (p *payload) code(event string) CodeSource {
	pr, isPull := p.PullRequest, p.PullRequest != nil || strings.HasPrefix(event, "pull_request")
	switch {
	case event == "workflow_run":
		return CodeSource{Known: true, Fork: !isSame(p.WorkflowRun.HeadRepository, p.Repository.repository)}
	case !isPull:
		return CodeSource{Known: p.subject().Kind != KindPullRequest && (userEvents[event] || writerEvents[event])}
	case event == "pull_request_comment" && (pr == nil || pr.Head == nil):
		return CodeSource{}
	case pr.isFork():
		return CodeSource{Known: true, Fork: true}
	}
	return CodeSource{Known: true, Head: pr.head().Ref}
}

// isSame compares two repositories by id, or by name if an id is missing. If they can't be compared,
// they are not the same.
func isSame(a, b repository) bool {
	if a.ID != 0 && b.ID != 0 {
		return a.ID == b.ID
	}
	return a.FullName != "" && strings.EqualFold(a.FullName, b.FullName)
}

// comment returns the comment or review of the event. It has only a body unless it belongs to an issue
// or a pull request.
func (p *payload) comment(event string, number int) Comment {
	var r Comment
	switch event {
	case "issue_comment", "pull_request_comment":
		r = p.Comment.comment(IssueComment, number)
	case "pull_request_review_comment":
		r = p.Comment.comment(LineComment, number)
	case "pull_request_review":
		r = p.Review.comment(ReviewText, number)
	}
	if r.ID == 0 && r.Body == "" {
		return Comment{Body: p.Comment.Body}
	}
	return r
}
