package slots

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/state"
)

// workflows is the folder of workflow files. Gitea gives only their names.
const workflows = ".github/workflows/"

// Origin is where checkpoints have to come from to be trusted: this repository, its
// own workflow file, and its own or the default branch.
type Origin struct {
	RepositoryID int64
	// Workflow is the path of the own workflow file; "" where the environment does
	// not tell, and then the API is asked.
	Workflow      string
	ResumeFrom    []string // other workflow files whose checkpoints are accepted
	Branch        string   // the own head branch
	DefaultBranch string
	// Head is another branch that counts as the own one, the head of the pull request that
	// the event is about; "" for none.
	Head string
	// Sealed says that checkpoints are sealed with a key of this job, and that one which is
	// sealed so and stored by a run of this repository is trusted whatever its branch and
	// event: comments run on the default branch, and go on with what a branch stored.
	Sealed bool
	// Gitea allows for what its API leaves out of artifacts and runs. What is there
	// is checked all the same.
	Gitea bool
}

// accept asks where an artifact comes from. One of another origin is passed over.
func (s *search) accept(ctx context.Context, a artifacts.RunArtifact) (candidate, bool, error) {
	why := s.q.Origin.foreignArtifact(a)
	if why != "" {
		s.passed.add(a, "", why)
		return candidate{}, false, nil
	}
	if err := s.learnWorkflow(ctx); err != nil {
		return candidate{}, false, err
	}
	info, err := s.run(ctx, a.RunID)
	if err != nil {
		name := candidate{RunArtifact: a, run: artifacts.RunInfo{ID: a.RunID}}.name()
		return candidate{}, false, s.classify(ofListed, name, err)
	}
	if why = s.q.Origin.foreignRun(info, a.Repository); why != "" {
		s.passed.add(a, info.URL, why)
		return candidate{}, false, nil
	}
	bySeal := s.q.Origin.Sealed && (a.HeadBranch != "" && !s.q.Origin.isOwnBranch(a.HeadBranch) || s.q.Origin.foreignBranch(info) != "")
	return candidate{RunArtifact: a, run: info, bySeal: bySeal}, true, nil
}

// learnWorkflow asks for the own workflow file where the environment does not tell it.
func (s *search) learnWorkflow(ctx context.Context) error {
	if s.q.Origin.Workflow != "" || s.q.Job.RunID == 0 {
		return nil
	}
	own, err := s.run(ctx, s.q.Job.RunID)
	s.q.Origin.Workflow = own.Path
	return s.classify(ofLists, "", err)
}

// foreignArtifact says why an artifact is not one of this repository's own runs,
// by what its listing tells; "" when it may be.
func (o *Origin) foreignArtifact(a artifacts.RunArtifact) string {
	switch {
	case a.RunID == 0:
		return "its workflow run is not known"
	case o.RepositoryID == 0 && !o.Gitea:
		return "the id of this repository is not known"
	case !o.isHome(a.Repository, o.RepositoryID):
		return "it is of another repository"
	case !o.isHome(a.HeadRepository, cmp.Or(o.RepositoryID, a.Repository)):
		return fromFork
	case a.HeadBranch != "" && !o.isOwnBranch(a.HeadBranch) && !o.Sealed:
		return fmt.Sprintf("it is of branch %q", a.HeadBranch) // known without a question for each run
	}
	return ""
}

// isOwnBranch reports whether runs of a branch are trusted.
func (o *Origin) isOwnBranch(name string) bool {
	return name == o.Branch || name == o.DefaultBranch || name == o.Head && name != ""
}

const fromFork = "its code came from a fork"

// isHome reports whether an id is that of this repository. Gitea leaves ids out.
func (o *Origin) isHome(id, home int64) bool {
	return id == home && id != 0 || (id == 0 || home == 0) && o.Gitea
}

// foreignRun says why a run is not one of this workflow and branch; "" when it
// is.
func (o *Origin) foreignRun(r artifacts.RunInfo, repository int64) string {
	switch {
	case !o.isHome(r.HeadRepository, cmp.Or(o.RepositoryID, repository)):
		return fromFork
	case r.Path == "" || !slices.ContainsFunc(o.files(), func(a string) bool { return a != "" && o.sameFile(r.Path, a) }):
		return fmt.Sprintf("its workflow file is %q; the input resume-from names others that are accepted", r.Path)
	case o.Sealed:
		return "" // its seal is looked at
	}
	return o.foreignBranch(r)
}

// foreignBranch says why a run of this repository is not one of this branch, or why its event
// may be a fork's; "" when neither is so. Runs of such events must say that their code is this
// repository's, and whose branch it is.
func (o *Origin) foreignBranch(r artifacts.RunInfo) string {
	switch {
	case r.HeadBranch == "":
		return "its branch is not known"
	case !o.isOwnBranch(r.HeadBranch):
		return fmt.Sprintf("it is of branch %q", r.HeadBranch)
	case mayBeForks(r):
		return fmt.Sprintf("its event %q may be a fork's", r.Event)
	case isPull(r.Event) && r.HeadBranch != o.Branch && r.HeadBranch != o.Head:
		return fmt.Sprintf("it is of a pull request of branch %q", r.HeadBranch)
	}
	return ""
}

// isPull reports whether an event is one of a pull request, and not Gitea's for a comment
// on one, which runs on the default branch, as issue_comment does.
func isPull(event string) bool {
	return strings.HasPrefix(event, "pull_request") && event != "pull_request_comment"
}

// mayBeForks reports whether a run of which the service does not say whose code it ran may
// have run that of a fork.
func mayBeForks(r artifacts.RunInfo) bool {
	return r.HeadRepository == 0 && (isPull(r.Event) || r.Event == "workflow_run")
}

// files are the workflow files whose runs' checkpoints are accepted.
func (o *Origin) files() []string { return append([]string{o.Workflow}, o.ResumeFrom...) }

func (o *Origin) sameFile(a, b string) bool {
	a, b = inFolder(a), inFolder(b)
	return a == b || o.Gitea && path.Base(a) == path.Base(b)
}

// inFolder completes the bare name of a workflow file, and drops a ref.
func inFolder(file string) string {
	file, _, _ = strings.Cut(file, "@")
	if !strings.Contains(file, "/") {
		return workflows + file
	}
	return strings.TrimPrefix(file, "./")
}

// maxNotices is how many notices name an artifact that was passed over.
const maxNotices = 3

// passedOver collects what was passed over, once for each workflow run.
type passedOver struct {
	seen  map[int64]bool
	texts []string // of the first
}

func (p *passedOver) add(a artifacts.RunArtifact, url, why string) {
	if !p.seen[a.RunID] && len(p.texts) < maxNotices {
		p.texts = append(p.texts, fmt.Sprintf("artifact %q of %s is passed over: %s", a.Name, runName(a.RunID, url), why))
	}
	p.seen[a.RunID] = true
}

// notices returns the first texts, and how many more there are.
func (p *passedOver) notices() []string {
	if more := len(p.seen) - len(p.texts); more > 0 {
		return append(p.texts, "passed over besides: artifacts of "+state.Count(more, "more workflow run"))
	}
	return p.texts
}
