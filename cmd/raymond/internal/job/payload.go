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

// maxPayload is the maximum size of an event payload, in bytes. GitHub has the same limit.
const maxPayload = 25 << 20

// payload contains the fields of an event payload that this package uses. A field is zero if the forge
// omits it or its type is not the usual one.
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
	After string // for push: the commit that the branch or tag points to after the push
}

// whole is a whole number in a payload. The runner may write large numbers like 3000000001.0.
type whole int64

// UnmarshalJSON implements json.Unmarshaler. Any value that is not a whole number becomes zero.
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

// pull is a pull request in a payload or in a response of the API.
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

// head returns the head of a pull request. It returns a zero side if the head is unknown.
func (p *pull) head() side {
	if p == nil || p.Head == nil {
		return side{}
	}
	return *p.Head
}

// isFork reports whether the head is not known to be in the repository of the base. It is also true if p is
// nil, or if the head's repository was deleted or has no name.
func (p *pull) isFork() bool { return p == nil || !isSame(p.head().Repo, p.Base.Repo) }

// readPayload reads the payload in the file at path. It returns nil if the file does not exist or is empty.
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
	case err != nil && !(errors.As(err, &other) && other.Field != ""): // a type error in one field is ignored: the other fields have been read
		return nil, err
	case p == nil:
		return nil, errors.New("it is not a JSON object")
	}
	return p, nil
}

// PayloadText returns the values at paths like issue.body in an event payload, joined with blank lines.
// It skips values that are neither numbers nor text, and text that is blank. It returns "" if no value
// is left.
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

// subject returns the issue or pull request that the event is about. It returns a zero Subject for other
// events.
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

// code returns the origin of the code that the event is about, as far as the payload contains it.
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

// isSame reports whether two repositories are the same. It compares their ids, or their names if an id
// is missing. It returns false if neither can be compared.
func isSame(a, b repository) bool {
	if a.ID != 0 && b.ID != 0 {
		return a.ID == b.ID
	}
	return a.FullName != "" && strings.EqualFold(a.FullName, b.FullName)
}

// comment returns the comment or review of the event. If it doesn't belong to an issue or a pull
// request, only its body is set.
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
