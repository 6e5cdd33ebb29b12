package slots

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/state"
)

// workflows is the folder of workflow files. Gitea tells their names alone.
const workflows = ".github/workflows/"

// accept asks where an artifact comes from. One of another origin is passed over.
func (s *search) accept(ctx context.Context, a artifacts.Stored) (candidate, bool, error) {
	why := s.foreignArtifact(a)
	if why != "" {
		s.passed.add(a, "", why)
		return candidate{}, false, nil
	}
	info, err := s.run(ctx, a.RunID)
	if err != nil {
		return candidate{}, false, s.sorted(forDetails, candidate{artifact: a.Artifact, run: artifacts.RunInfo{ID: a.RunID}}.name(), err)
	}
	if why = s.foreignRun(info, a.Repository); why != "" {
		s.passed.add(a, info.URL, why)
		return candidate{}, false, nil
	}
	return candidate{artifact: a.Artifact, stored: a, run: info}, true, nil
}

// foreignArtifact says why an artifact is not one of this repository's own runs,
// by what its listing tells; "" when nothing speaks against it.
func (s *search) foreignArtifact(a artifacts.Stored) string {
	switch {
	case a.RunID == 0:
		return "its workflow run is not known"
	case s.q.RepositoryID == 0 && !s.q.Gitea:
		return "the id of this repository is not known"
	case !s.isHome(a.Repository, s.q.RepositoryID):
		return "it is of another repository"
	case !s.isHome(a.HeadRepository, cmp.Or(s.q.RepositoryID, a.Repository)):
		return fromFork
	case a.HeadBranch != "" && !s.isOwnBranch(a.HeadBranch):
		return fmt.Sprintf("it is of branch %q", a.HeadBranch) // known without a question for each run
	}
	return ""
}

// isOwnBranch reports whether runs of a branch are believed.
func (s *search) isOwnBranch(name string) bool {
	return name == s.q.Branch || name == s.q.DefaultBranch
}

const fromFork = "its code came from a fork"

// isHome reports whether an id is that of this repository. Gitea leaves ids out.
func (s *search) isHome(id, home int64) bool {
	return id == home && id != 0 || (id == 0 || home == 0) && s.q.Gitea
}

// foreignRun says why a run is not one of this workflow and branch; "" when it
// is.
func (s *search) foreignRun(r artifacts.RunInfo, repository int64) string {
	switch {
	case !s.isHome(r.HeadRepository, cmp.Or(s.q.RepositoryID, repository)):
		return fromFork
	case !s.isAcceptedFile(r.Path):
		return fmt.Sprintf("its workflow file is %q; the input resume-from names others that are accepted", r.Path)
	case r.HeadBranch == "":
		return "its branch is not known"
	case !s.isOwnBranch(r.HeadBranch):
		return fmt.Sprintf("it is of branch %q", r.HeadBranch)
	}
	return s.foreignEvent(r)
}

// foreignEvent says why the event of a run may be a fork's. Runs of such events
// must say that their code is this repository's, and whose branch it is.
func (s *search) foreignEvent(r artifacts.RunInfo) string {
	isPull := strings.HasPrefix(r.Event, "pull_request")
	switch {
	case !isPull && r.Event != "workflow_run":
		return ""
	case r.HeadRepository == 0:
		return fmt.Sprintf("its event %q may be a fork's", r.Event)
	case isPull && r.HeadBranch != s.q.Branch:
		return fmt.Sprintf("it is of a pull request of branch %q", r.HeadBranch)
	}
	return ""
}

// isAcceptedFile reports whether a run's workflow file is the own one or one that
// resume-from names.
func (s *search) isAcceptedFile(file string) bool {
	if file == "" {
		return false
	}
	accepted := append([]string{s.q.Workflow}, s.q.ResumeFrom...)
	for _, a := range accepted {
		if a != "" && s.sameFile(file, a) {
			return true
		}
	}
	return false
}

func (s *search) sameFile(a, b string) bool {
	a, b = inFolder(a), inFolder(b)
	return a == b || s.q.Gitea && path.Base(a) == path.Base(b)
}

// inFolder completes the bare name of a workflow file, and drops a ref.
func inFolder(file string) string {
	file, _, _ = strings.Cut(file, "@")
	if !strings.Contains(file, "/") {
		return workflows + file
	}
	return strings.TrimPrefix(file, "./")
}

// maxNotices is how many artifacts that were passed over are told one by one.
const maxNotices = 3

// passedOver collects what was passed over, once for each workflow run.
type passedOver struct {
	seen  map[int64]bool
	texts []string
}

func (p *passedOver) add(a artifacts.Stored, url, why string) {
	if p.seen[a.RunID] {
		return
	}
	if p.seen == nil {
		p.seen = map[int64]bool{}
	}
	p.seen[a.RunID] = true
	p.texts = append(p.texts, fmt.Sprintf("artifact %q of %s is passed over: %s", a.Name, runName(a.RunID, url), why))
}

// notices returns the first texts, and how many more there are.
func (p *passedOver) notices() []string {
	if len(p.texts) <= maxNotices {
		return p.texts
	}
	more := fmt.Sprintf("passed over besides: artifacts of %s", state.Count(len(p.texts)-maxNotices, "more workflow run"))
	return append(append([]string{}, p.texts[:maxNotices]...), more)
}
