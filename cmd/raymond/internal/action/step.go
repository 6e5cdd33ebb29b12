package action

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/confine"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// step has the inputs and services of a step of a job. readInputs sets them; after that, only the
// key, the subject of the event, the note and the masked values of the log may change.
type step struct {
	env     Env
	in      job.Settings
	event   job.Event
	options *options.Options // from the inputs that are flags of raymond run
	keys    *checkpoint.Keys // nil: checkpoints are not sealed
	follows slots.Named      // the checkpoint that the run must continue from; zero for any
	key     string           // identity of the run
	dirs    folders
	files   *job.Files // the runner's command files
	log     *jobLog
	note    *stepNote              // data for the post phase
	places  checkpoint.MachineDirs // the directories of this machine
	api     *job.GitHub
	stored  services
	git     *workspace.Git
	isPost  bool            // this is the post phase
	began   time.Time       // when the step was started
	gone    <-chan struct{} // closed when the runner is gone; nil in the post phase
}

// folders has the directories of a step as absolute paths.
type folders struct {
	top   string // the job's workspace
	work  string // the working directory of agents and scripts
	own   string // of this step alone
	state string // the state directory: own, or with store: local as the input says
	all   string // the parent of the directories of all steps of the job
}

// within returns a path, relative to a directory unless it is absolute. The path is clean, so ..
// after a link does not lead to the parent of the link's target.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// named returns the path that an input names, relative to a directory unless it is absolute. It
// refuses paths that a link leads out of the workspace.
func (d folders) named(input, dir, path string) (string, error) {
	path = within(dir, path)
	if _, err := cage.FollowLinks(path, d.top); err != nil {
		return "", &problem.Problem{Class: problem.ClassDenied, Where: "input " + input, What: path + ": " + err.Error()}
	}
	return path, nil
}

// run returns the directory of a run's own files.
func (d folders) run(id string) string { return filepath.Join(d.state, id) }

// events returns the path of a run's event log.
func (d folders) events(id string) string { return filepath.Join(d.state, id, session.EventsFile) }

// shimVariable is the environment variable with the directory of the action's JavaScript. The
// JavaScript sets it itself, so that no earlier step can. It is empty if the program was started by
// hand.
const shimVariable = "RAYMOND_SHIM"

func newStep(e Env, out io.Writer, isPost bool) *step {
	return &step{env: e, log: newLog(job.NewLogWriter(out, e.Getenv("GITHUB_WORKSPACE")), isPost), note: &stepNote{}, isPost: isPost, began: time.Now()}
}

// part returns the part of a matrix that the step runs, or nil for the run itself.
func (s *step) part() *state.Part { return s.note.get().Part }

// noGit is the path of git if git is not installed.
const noGit = os.DevNull

// newGit returns git, from a location that agents of this or an earlier step can't write to.
func newGit(env Env, in job.Settings, dirs folders, c options.Cage) *workspace.Git {
	path, err := workspace.Find(env.Environ, dirs.top, env.Getenv("RUNNER_TEMP"))
	if err != nil {
		path = noGit
	}
	var besides []string
	for _, dir := range c.Writable {
		if dir = (&confine.Site{Environ: env.Environ}).ExpandHome(dir); !filepath.IsAbs(dir) {
			dir = filepath.Join(dirs.top, dir)
		}
		besides = append(besides, dir)
	}
	return &workspace.Git{
		Path: path, Temp: dirs.own, TagsDir: filepath.Join(dirs.all, tagsFolder), Workspace: dirs.top, OutsideDirs: besides, Env: job.ScriptEnviron(env.Environ, nil), IsUncaged: in.AllowSudo || c.IsOff(),
		Token: in.GitHubToken, ServerURL: env.Getenv("GITHUB_SERVER_URL"),
	}
}

// services are the services that store checkpoints.
type services struct {
	runtime *artifacts.Runtime // nil without a results service
	archive *artifacts.Archive // nil without a token
	finder  slots.Finder       // searches both
	err     error              // why the results service can't be used
}

// openServices creates clients for the API and the job's services. It sends no requests.
func openServices(env Env, e job.Event, githubToken string, mask func(string)) (*job.GitHub, services, error) {
	var v services
	api, err := forge.New(forge.Options{
		URL: env.Getenv("GITHUB_API_URL"), GraphQL: env.Getenv("GITHUB_GRAPHQL_URL"), Token: githubToken,
		Repository: e.Repository.Name, Act: e.IsUnderAct(), Transport: env.Transport,
	})
	if err != nil {
		return nil, v, problem.Usage("GITHUB_API_URL", err.Error(), "")
	}
	if githubToken != "" {
		v.archive = artifacts.NewArchive(api, mask)
		v.finder.Archive = v.archive
	}
	if token := env.Getenv("ACTIONS_RUNTIME_TOKEN"); token != "" {
		v.runtime, err = artifacts.NewRuntime(artifacts.Options{
			URL: env.Getenv("ACTIONS_RESULTS_URL"), Token: token, Mask: mask, Act: e.IsUnderAct(), Transport: env.Transport,
		})
		if v.finder.Service = v.runtime; err != nil { // with store: local the service may not be needed
			v.finder.Service, v.err = nil, &problem.Problem{Class: problem.ClassStore, Where: "results service", What: err.Error(),
				Hint: "if this server has no artifact service, store: local with a state-dir stores runs on the machine"}
		}
	}
	return job.NewGitHub(api), v, nil
}

// query returns a query for the checkpoints of the step's key.
func (s *step) query() slots.Query {
	var part state.Part
	if own := s.part(); own != nil {
		part = *own
	}
	return slots.Query{
		Mode: s.in.Resume, Key: s.key, Part: part,
		Origin: slots.Origin{
			RepositoryID: s.event.Repository.ID, Workflow: s.event.Workflow, ResumeFrom: s.in.ResumeFrom,
			Branch: s.event.Branch, DefaultBranch: s.event.Repository.DefaultBranch, Gitea: s.event.IsGitea,
			Head: s.event.Code.Head, Sealed: s.keys != nil,
		},
		Job:     jobOf(s.event),
		SameIDs: s.event.IsGitea || s.event.IsUnderAct(), Act: s.event.IsUnderAct(), Temp: s.dirs.state,
		Read: func(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error) {
			return checkpoint.Read(checkpoint.ReadRequest{File: f, Size: size, Keys: s.keys, Dir: dir})
		},
	}
}

// jobOf returns the job of an event.
func jobOf(e job.Event) slots.Job {
	return slots.Job{RunID: e.RunID, Attempt: e.Attempt, ID: e.Job, Runner: e.Runner}
}

// origin returns the fields of a manifest that describe the job.
func (s *step) origin() checkpoint.Manifest {
	return checkpoint.Manifest{
		RepositoryID: s.event.Repository.ID, Repository: s.event.Repository.Name, Workflow: s.event.Workflow, Key: s.key, Part: s.part(),
		RunID: s.event.RunID, RunAttempt: s.event.Attempt, Job: s.event.Job,
		Runner: s.event.Runner, Event: s.event.Name, Kind: s.event.Kind, Number: s.event.Number, Title: s.event.Title, Head: s.event.Head,
		Untrusted: s.note.get().Untrusted, Dirs: s.places, Program: s.env.Version, Ended: s.isPost,
	}
}

// inherited returns the environment from which agents and scripts get some variables. It includes
// the job's token, for inputs that name it.
func inherited(env Env, in job.Settings) []string {
	all := slices.DeleteFunc(slices.Clone(env.Environ), func(kv string) bool {
		// Children don't have the shim's pipe as stdin, and must not learn where the shim is.
		return strings.HasPrefix(kv, shell.ShimStdin+"=") || strings.HasPrefix(kv, shimVariable+"=")
	})
	if env.Getenv("GITHUB_TOKEN") == "" && in.GitHubToken != "" {
		all = append(all, "GITHUB_TOKEN="+in.GitHubToken)
	}
	return all
}
