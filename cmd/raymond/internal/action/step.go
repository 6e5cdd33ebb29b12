package action

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// step is what a step of a job was given. readInputs fills it; after that only its key,
// the subject of its event, its note and what its log hides may change.
type step struct {
	env     Env
	in      job.Settings
	event   job.Event
	options *options.Options // the inputs that are flags of raymond run
	keys    *checkpoint.Keys // nil: checkpoints are not sealed
	key     string           // identity of the run
	dirs    folders
	files   *job.Files // the runner's command files; nil outside of a job
	log     *jobLog
	note    *stepNote // for the post part
	isPost  bool      // this is the post part of the step
	began   time.Time // when it was started
	program string    // git, as it was found before agents of this step started
}

// folders are those of a step, absolute.
type folders struct {
	top   string // the job's workspace
	work  string // where agents and scripts work: the working directory
	own   string // of this step alone
	state string // where the state is kept: own, or with store: local where the job says
}

// shimVariable holds the folder of the action's JavaScript. The JavaScript itself sets
// it, so that no earlier step can; it is "" for a program that was started by hand.
const shimVariable = "RAYMOND_SHIM"

func newStep(e Env, out io.Writer, isPost bool) *step {
	return &step{env: e, log: newLog(job.NewCommands(out, e.Getenv("GITHUB_WORKSPACE")), isPost), note: &stepNote{}, isPost: isPost, began: time.Now()}
}

// withKey is the step as if the key were another one.
func (s *step) withKey(key string) *step {
	other := *s
	other.key = key
	return &other
}

// skip ends the step green, with nothing started, and says why.
func (s *step) skip(why string) error {
	s.log.notice(why)
	return errSkipped
}

// part is the part of a matrix that the step runs; nil for the run itself.
func (s *step) part() *state.Part { return s.note.get().Part }

func (s *step) getenv(name string) string { return s.env.Getenv(name) }

// isLocal reports whether runs are kept in a folder of the machine.
func (s *step) isLocal() bool { return s.in.Store == job.StoreLocal }

// isForks reports whether the event is a fork's, whose runs nobody resumes.
func (s *step) isForks() bool {
	return s.event.Code.Fork && (strings.HasPrefix(s.event.Name, "pull_request") || s.event.Name == "workflow_run")
}

// byAct reports whether the program that runs the job is act, or made of it:
// Gitea's runner is, and sets ACT=true as well.
func (s *step) byAct() bool { return s.getenv("ACT") == "true" }

// underAct reports whether act itself runs the job: its artifact service is simpler,
// and it has no earlier runs.
func (s *step) underAct() bool { return s.byAct() && !s.event.Gitea }

// runDir is the own folder of a run.
func (s *step) runDir(id string) string { return filepath.Join(s.dirs.state, id) }

// fileOfRun is a file in the own folder of a run.
func (s *step) fileOfRun(id, name string) string {
	return filepath.Join(s.runDir(id), filepath.FromSlash(name))
}

// forge is the REST API, for this repository.
func (s *step) forge() (*forge.Client, error) {
	c, err := forge.New(forge.Options{
		URL: s.getenv("GITHUB_API_URL"), GraphQL: s.getenv("GITHUB_GRAPHQL_URL"), Token: s.in.GitHubToken,
		Repository: s.event.Repository.Name, Act: s.underAct(), Transport: s.env.Transport,
	})
	if err != nil {
		return nil, problem.Usage("GITHUB_API_URL", err.Error(), "")
	}
	return c, nil
}

// api asks the forge who may do what.
func (s *step) api() (*job.GitHub, error) {
	c, err := s.forge()
	if err != nil {
		return nil, err
	}
	return job.NewGitHub(c), nil
}

// git is git as the step uses it.
func (s *step) git() *workspace.Git {
	return &workspace.Git{
		Path: s.program, Temp: s.dirs.own, Env: job.ScriptEnviron(s.env.Environ, nil),
		IsFree: s.in.AllowSudo || s.options.Cage.IsOff(),
	}
}

// noGit is where no git is.
const noGit = os.DevNull

// findGit finds git where agents of this step, or of one before, can't have put it.
func findGit(s *step) string {
	path, err := workspace.Find(s.env.Environ, s.dirs.top, s.getenv("RUNNER_TEMP"))
	if err != nil {
		return noGit
	}
	return path
}

// services are where checkpoints are kept.
type services struct {
	runtime *artifacts.Runtime // nil: the job has none
	archive *artifacts.Archive // nil: there is no token
}

// openServices reads addresses; it asks nobody anything.
func (s *step) openServices() (v services, err error) {
	mask := s.log.out.AddMask
	if token := s.getenv("ACTIONS_RUNTIME_TOKEN"); token != "" {
		v.runtime, err = artifacts.NewRuntime(artifacts.Options{
			URL: s.getenv("ACTIONS_RESULTS_URL"), Token: token, Mask: mask, Act: s.underAct(), Transport: s.env.Transport,
		})
		if err != nil {
			return v, &problem.Problem{Class: problem.ClassStore, Where: "results service", What: err.Error()}
		}
	}
	if s.in.GitHubToken == "" {
		return v, nil
	}
	api, err := s.forge()
	if err != nil {
		return v, err
	}
	v.archive = artifacts.NewArchive(api, mask)
	return v, nil
}

// finder looks for what is stored.
func (v services) finder() *slots.Finder {
	f := &slots.Finder{}
	if v.runtime != nil {
		f.Service = v.runtime
	}
	if v.archive != nil {
		f.Archive = v.archive
	}
	return f
}

// query says what checkpoints are looked for.
func (s *step) query() slots.Query {
	var part state.Part
	if own := s.part(); own != nil {
		part = *own
	}
	return slots.Query{
		Mode: s.in.Resume, Key: s.key, Part: part,
		Origin: slots.Origin{
			RepositoryID: s.event.Repository.ID, Workflow: s.workflowFile(), ResumeFrom: s.in.ResumeFrom,
			Branch: s.event.Branch, DefaultBranch: s.event.Repository.DefaultBranch, Gitea: s.event.Gitea,
			Head: s.event.Code.Head, Sealed: s.keys != nil,
		},
		Job:     s.thisJob(),
		SameIDs: s.event.Gitea || s.underAct(), Act: s.underAct(), Temp: s.dirs.state,
		Read: func(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error) {
			return checkpoint.Read(checkpoint.Reading{File: f, Size: size, Keys: s.keys, Dir: dir})
		},
	}
}

// thisJob is the present job.
func (s *step) thisJob() slots.Job {
	return slots.Job{RunID: s.number("GITHUB_RUN_ID"), Attempt: s.event.Attempt, ID: s.getenv("GITHUB_JOB"), Runner: s.getenv("RUNNER_NAME")}
}

// origin is what a checkpoint says of the job that made it.
func (s *step) origin() checkpoint.Manifest {
	return checkpoint.Manifest{
		RepositoryID: s.event.Repository.ID, Repository: s.event.Repository.Name, Workflow: s.workflowFile(), Key: s.key, Part: s.part(),
		RunID: s.number("GITHUB_RUN_ID"), RunAttempt: max(1, int(s.number("GITHUB_RUN_ATTEMPT"))), Job: s.getenv("GITHUB_JOB"),
		Runner: s.getenv("RUNNER_NAME"), IntervalMS: s.in.CheckpointInterval.Milliseconds(),
		Event: s.event.Name, Kind: s.event.Kind, Number: s.event.Number, Title: s.event.Title,
		Untrusted: s.note.get().Untrusted, Places: s.places(), Program: s.env.Version, Ended: s.isPost,
	}
}

// number is a variable that has a number; 0 for none.
func (s *step) number(name string) int64 {
	n, err := strconv.ParseInt(s.getenv(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// places are the folders of this machine.
func (s *step) places() checkpoint.Places {
	temp := cmp.Or(s.getenv("RUNNER_TEMP"), os.TempDir())
	return checkpoint.Places{Workspace: strings.TrimRight(s.dirs.top, `/\`), Temp: strings.TrimRight(temp, `/\`), OS: runtime.GOOS}
}

// workflowFile is the path of the job's own workflow file.
func (s *step) workflowFile() string { return job.WorkflowFile(s.getenv) }

// workflowCommit is the commit of the workflow's own ref that started the job.
func (s *step) workflowCommit() string {
	return cmp.Or(s.getenv("GITHUB_WORKFLOW_SHA"), s.getenv("GITHUB_SHA"))
}

// site is the address of the repository, "" where it is not known.
func (s *step) site() string {
	server := strings.TrimSuffix(s.getenv("GITHUB_SERVER_URL"), "/")
	if server == "" || s.event.Repository.Name == "" {
		return ""
	}
	return server + "/" + s.event.Repository.Name + "/"
}

// pageOf is where people see a workflow run; "" where that is not known.
func (s *step) pageOf(run int64) string {
	if site := s.site(); site != "" && run != 0 {
		return site + "actions/runs/" + strconv.FormatInt(run, 10)
	}
	return ""
}

// id tells this step from all others.
func (s *step) id() string {
	var parts []string
	for _, name := range []string{"GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB", "GITHUB_ACTION"} {
		parts = append(parts, s.getenv(name))
	}
	return strings.Join(parts, "/")
}

// inherited is the environment that agents and scripts are given some of. The
// token of the job is in it for those who name it.
func (s *step) inherited() []string {
	env := slices.DeleteFunc(slices.Clone(s.env.Environ), func(kv string) bool {
		// Their stdin is no pipe of the shim, and where that lies is none of their business.
		return strings.HasPrefix(kv, shell.ShimStdin+"=") || strings.HasPrefix(kv, shimVariable+"=")
	})
	if s.getenv("GITHUB_TOKEN") == "" && s.in.GitHubToken != "" {
		env = append(env, "GITHUB_TOKEN="+s.in.GitHubToken)
	}
	return env
}
