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

// workflows is the directory of workflow files. Gitea returns only the file names.
const workflows = ".github/workflows/"

// Origin describes trusted checkpoints: they come from this repository, from its own workflow file,
// and from its own or the default branch.
type Origin struct {
	RepositoryID int64
	// Workflow is the path of the own workflow file; "" if the environment does not contain it, and
	// then it is requested from the API.
	Workflow      string
	ResumeFrom    []string // other workflow files whose checkpoints are accepted
	Branch        string   // own head branch
	DefaultBranch string
	// Head is another branch that counts as own, the head of the pull request that the event is
	// about; "" for none.
	Head string
	// Sealed is set if checkpoints are sealed with a key of this job. A checkpoint with this seal
	// from a run of this repository is trusted whatever its branch and event: comment events run on
	// the default branch and continue runs of other branches.
	Sealed bool
	// Gitea allows for fields that Gitea's API leaves empty in artifacts and runs. Fields that are
	// present are checked as usual.
	Gitea bool
}

// accept checks where an artifact comes from. An artifact of another origin is skipped.
func (s *search) accept(ctx context.Context, a artifacts.RunArtifact) (candidate, bool, error) {
	why := s.q.Origin.foreignArtifact(a)
	if why != "" {
		s.skipped.add(a, "", why)
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
		s.skipped.add(a, info.URL, why)
		return candidate{}, false, nil
	}
	bySeal := s.q.Origin.Sealed && (a.HeadBranch != "" && !s.q.Origin.isOwnBranch(a.HeadBranch) || s.q.Origin.foreignBranch(info) != "")
	return candidate{RunArtifact: a, run: info, bySeal: bySeal}, true, nil
}

// learnWorkflow requests the own workflow file from the API if the environment does not contain it.
func (s *search) learnWorkflow(ctx context.Context) error {
	if s.q.Origin.Workflow != "" || s.q.Job.RunID == 0 {
		return nil
	}
	own, err := s.run(ctx, s.q.Job.RunID)
	s.q.Origin.Workflow = own.Path
	return s.classify(ofLists, "", err)
}

// foreignArtifact returns why an artifact does not belong to this repository's own runs, according
// to its listing, or "" if it may.
func (o *Origin) foreignArtifact(a artifacts.RunArtifact) string {
	switch {
	case a.RunID == 0:
		return "its workflow run is not known"
	case o.RepositoryID == 0 && !o.Gitea:
		return "the id of this repository is not known"
	case !o.isHome(a.Repository, o.RepositoryID):
		return "it belongs to another repository"
	case !o.isHome(a.HeadRepository, cmp.Or(o.RepositoryID, a.Repository)):
		return fromFork
	case a.HeadBranch != "" && !o.isOwnBranch(a.HeadBranch) && !o.Sealed:
		return fmt.Sprintf("it belongs to branch %q", a.HeadBranch) // known without a request for each run
	}
	return ""
}

// isOwnBranch reports whether runs of a branch are trusted.
func (o *Origin) isOwnBranch(name string) bool {
	return name == o.Branch || name == o.DefaultBranch || name == o.Head && name != ""
}

const fromFork = "its code came from a fork"

// isHome reports whether an id is the id of this repository. Gitea leaves ids empty.
func (o *Origin) isHome(id, home int64) bool {
	return id == home && id != 0 || (id == 0 || home == 0) && o.Gitea
}

// foreignRun returns why a run does not belong to this workflow and branch, or "" if it does.
func (o *Origin) foreignRun(r artifacts.RunInfo, repository int64) string {
	isSameFile := func(file string) bool { // Gitea returns only the names of workflow files
		a, b := inFolder(r.Path), inFolder(file)
		return file != "" && (a == b || o.Gitea && path.Base(a) == path.Base(b))
	}
	switch {
	case !o.isHome(r.HeadRepository, cmp.Or(o.RepositoryID, repository)):
		return fromFork
	case r.Path == "" || !slices.ContainsFunc(o.files(), isSameFile):
		return fmt.Sprintf("its workflow file is %q; to accept it, add it to the input resume-from", r.Path)
	case o.Sealed:
		return "" // its seal is checked later
	}
	return o.foreignBranch(r)
}

// foreignBranch returns why a run of this repository does not belong to this branch, or why its
// event may be a fork's, or "". For events that forks can cause, the service must confirm that the
// code belongs to this repository, and name its branch.
func (o *Origin) foreignBranch(r artifacts.RunInfo) string {
	switch {
	case r.HeadBranch == "":
		return "its branch is not known"
	case !o.isOwnBranch(r.HeadBranch):
		return fmt.Sprintf("it belongs to branch %q", r.HeadBranch)
	case mayBeForks(r):
		return fmt.Sprintf("its event %q may be a fork's", r.Event)
	case isPull(r.Event) && r.HeadBranch != o.Branch && r.HeadBranch != o.Head:
		return fmt.Sprintf("it belongs to a pull request of branch %q", r.HeadBranch)
	}
	return ""
}

// isPull reports whether an event belongs to a pull request and runs on its branch. Gitea's event
// for comments on pull requests runs on the default branch, like issue_comment.
func isPull(event string) bool {
	return strings.HasPrefix(event, "pull_request") && event != "pull_request_comment"
}

// mayBeForks reports whether a run may have run the code of a fork, because the service does not
// say whose code it ran.
func mayBeForks(r artifacts.RunInfo) bool {
	return r.HeadRepository == 0 && (isPull(r.Event) || r.Event == "workflow_run")
}

// files returns the workflow files whose checkpoints are accepted.
func (o *Origin) files() []string { return append([]string{o.Workflow}, o.ResumeFrom...) }

// inFolder completes the bare name of a workflow file, and drops a ref.
func inFolder(file string) string {
	file, _, _ = strings.Cut(file, "@")
	if !strings.Contains(file, "/") {
		return workflows + file
	}
	return strings.TrimPrefix(file, "./")
}

// maxNotices is the maximum number of notices about single artifacts that were skipped.
const maxNotices = 3

// skipped collects notices about skipped artifacts, once for each workflow run.
type skipped struct {
	seen  map[int64]bool
	texts []string // of the first workflow runs
}

func (p *skipped) add(a artifacts.RunArtifact, url, why string) {
	if !p.seen[a.RunID] && len(p.texts) < maxNotices {
		p.texts = append(p.texts, fmt.Sprintf("artifact %q of %s was skipped: %s", a.Name, runName(a.RunID, url), why))
	}
	p.seen[a.RunID] = true
}

// notices returns the first notices, and a count of the others.
func (p *skipped) notices() []string {
	if more := len(p.seen) - len(p.texts); more > 0 {
		return append(p.texts, "also skipped: artifacts of "+state.Count(more, "more workflow run"))
	}
	return p.texts
}
