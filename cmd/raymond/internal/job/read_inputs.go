package job

import (
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/state"
)

// Values of the input mode.
const (
	ModeRun      = "run"
	ModeLint     = "lint"
	ModeDiagram  = "diagram"
	ModeSimulate = "simulate"
)

// Values of the input resume, in addition to workflow ids.
const (
	ResumeAuto    = "auto"
	ResumeNever   = "never"
	ResumeRequire = "require"
)

// Values of the input changed-workflow.
const (
	ChangedTake   = "take"
	ChangedNew    = "new"
	ChangedRefuse = "refuse"
)

// maxContinuations is the maximum number of times in a row that continue: redispatch starts the workflow.
const maxContinuations = 10

// Values of the inputs store, workspace, comment, on-denied and continue.
const (
	StoreArtifact = "artifact"
	StoreLocal    = "local"
	WorkspaceGit  = "git"
	WorkspaceNone = "none"
	CommentNone   = "none"
	CommentSticky = "sticky"
	OnDeniedFail  = "fail"
	OnDeniedSkip  = "skip"

	ContinueNone       = "none"
	ContinueRedispatch = "redispatch"
)

// Settings are the inputs that don't set flags of raymond run; Arguments returns the flags. A field with
// an input tag is read from the input of that name.
type Settings struct {
	Mode             string   `input:"mode"`              // a Mode constant
	Workflow         string   `input:"workflow"`          // never empty
	Replies          string   `input:"replies"`           // never empty with ModeSimulate
	WorkingDirectory string   `input:"working-directory"` // as written in the workflow file; if empty, the workspace
	Input            string   `input:"input"`             // as written in the workflow file; CleanPromptInput cleans it
	InputFrom        []string `input:"input-from"`        // paths in the event's payload, such as issue.body
	Key              string   `input:"key"`               // if empty, DefaultKey is used
	Matrix           string   // digest of the job's values in a matrix; empty without a matrix
	IsCalled         bool     // the job belongs to a reusable workflow

	Part      []string `input:"part"`       // the agents of the part that this step runs; nil if it runs the whole run
	MatrixJob string   `input:"matrix-job"` // the job that the output matrix is for; if empty, the first of next-jobs
	MaxJobs   int      `input:"max-jobs"`   // maximum number of jobs in that matrix
	NamesJob  bool     // whether the input job is given; its value is passed on as the flag --job
	NoPrompts bool     // no prompt state may run

	BudgetPerKey state.USD `input:"budget-per-key"` // maximum cost of the key's runs in 24 hours; 0 means no limit
	BudgetPerDay state.USD `input:"budget-per-day"`

	Resume string // a Resume constant, or a workflow id
	// Rerun names a state execution of the run in Resume. If it is not empty, a new run begins from
	// there. It is a number, a state, or STATE#k for the k-th execution of a state.
	Rerun                   string
	ResumeFrom              []string
	ResumeWithoutTranscript bool   `input:"resume-without-transcript"`
	ChangedWorkflow         string `input:"changed-workflow"` // a Changed constant
	Continuations           int    // how often in a row the step may start its workflow again; 0 means never
	RaymondKey              string `input:"raymond-key"` // the key of the run that a dispatched workflow continues, if any
	Follows                 string `input:"follows"`     // the output state-digest of another step, if any

	Store         string `input:"store"`     // StoreArtifact or StoreLocal
	StateDir      string `input:"state-dir"` // never empty with StoreLocal
	StateKey      string `input:"state-key"`
	RetentionDays int    `input:"retention-days"` // 1 to 400
	Workspace     string `input:"workspace"`      // WorkspaceGit or WorkspaceNone

	Report       *bool  `input:"report"`        // nil means yes if the run has prompts and the repository is known to be private
	Comment      string `input:"comment"`       // CommentNone or CommentSticky
	AnswerPrefix string `input:"answer-prefix"` // what answers in comments begin with; never empty

	Env           []string `input:"env"` // names of variables to pass on
	ScriptEnv     []string `input:"script-env"`
	Rules         Rules
	OnDenied      string   `input:"on-denied"`      // OnDeniedFail or OnDeniedSkip
	TrustCheckout *bool    `input:"trust-checkout"` // if nil, IsCheckoutTrusted decides
	APITools      []string `input:"api-tools"`      // API names of tools that the models' APIs may run for agents
	AllowSudo     bool     `input:"allow-sudo"`
	TrustSelf     bool     `input:"trust-self"` // agents may write to the directory that contains the action
	Sandboxed     bool     `input:"sandboxed"`

	Versions    map[string]string // exact versions of agent CLIs to install, by backend; by default, the tested versions
	ModelKeys   map[string]string // keys for the models' APIs, by the names of the inputs
	GitHubToken string            `input:"github-token"`
}

// IsLocal reports whether runs are stored in a directory of this machine.
func (s *Settings) IsLocal() bool { return s.Store == StoreLocal }

// InputProblem is a problem with an input. Its texts are for the author of the GitHub workflow file.
type InputProblem struct {
	Input string // name of the input
	Value string // as written, shortened; empty for secrets
	What  string
	Hint  string // how to fix it; may be empty
}

// Usage converts the problem to an error of class usage.
func (p InputProblem) Usage() error {
	what := p.What
	if p.Value != "" {
		what = strconv.Quote(p.Value) + ": " + what
	}
	return problem.Usage("input "+p.Input, what, p.Hint)
}

// ReadSettings reads the inputs that don't set flags. It returns all problems with them together. If
// there are problems, the settings must not be used.
func ReadSettings(getenv func(string) string) (Settings, []InputProblem) {
	r := &reader{getenv: getenv}
	r.check()
	prompts, _ := parseBool(r.value("prompts"))
	given := map[string]string{}
	for _, in := range keyInputs() {
		if v := r.value(in.Name); v != "" {
			given[in.Name] = v
		}
	}
	s := Settings{
		IsCalled: isCalled(getenv, r.value("job-workflow-ref")), NamesJob: r.value("job") != "", NoPrompts: !prompts,
		ModelKeys: given,
	}
	s.Versions, _, _ = parseCLIs(r.value("clis"))
	r.fill(reflect.ValueOf(&s).Elem())
	r.fill(reflect.ValueOf(&s.Rules).Elem())
	s.Matrix, _ = matrixDigest(r.value("matrix-values")) // r.check has reported invalid JSON
	s.Resume, s.Rerun, _ = strings.Cut(r.value("resume"), "@")
	for _, file := range entries(r.value("resume-from")) {
		s.ResumeFrom = append(s.ResumeFrom, workflowPath(getenv, path.Base(file)))
	}
	if r.value("continue") == ContinueRedispatch {
		s.Continuations = maxContinuations
	}
	r.checkCombinations(s)
	return s, r.problems
}

// checkCombinations adds a problem for each combination of inputs that is not allowed.
func (r *reader) checkCombinations(s Settings) {
	isLocal, simulates := s.Store == StoreLocal, s.Mode == ModeSimulate
	input, isPart := "job", len(s.Part) > 0
	if isPart {
		input = "part"
	}
	for _, c := range []struct {
		isThere           bool
		input, what, hint string
	}{
		{
			(s.NamesJob || isPart) && s.Key == "" && s.Mode == ModeRun, "key",
			"is missing: a step with the input " + input + " shares its run with other jobs, but the default key is only for this job", "set the same key in all jobs of the run",
		},
		{isPart && isLocal, "part", "has no effect with store: local", "it needs store: artifact, with which the jobs of a matrix find the run"},
		{isPart && s.Resume == ResumeNever, "part", "can't be combined with resume: never", "remove one of them"},
		{s.Workflow == "", "workflow", "is missing", "name the folder, archive or state file to run"},
		{s.Input != "" && len(s.InputFrom) > 0, "input-from", "can't be combined with input", "set only one of them"},
		{simulates && s.Replies == "", "replies", "is missing", "mode: simulate needs a replies file"},
		{!simulates && s.Replies != "" && !r.hasProblem("mode"), "replies", "has no effect with mode: " + s.Mode, "it needs mode: simulate"},
		{s.Follows != "" && isLocal, "follows", "has no effect with store: local", "it needs store: artifact"},
		{s.Follows != "" && s.Resume == ResumeNever, "follows", "can't be combined with resume: never", "remove one of them"},
		{isLocal && s.StateDir == "", "state-dir", "is missing", "store: local needs a directory"},
		{!isLocal && s.StateDir != "" && !r.hasProblem("store"), "state-dir", "has no effect with store: " + s.Store, "it needs store: local"},
	} {
		if c.isThere {
			r.problems = append(r.problems, InputProblem{Input: c.input, Value: shorten(InputValue(r.getenv, c.input)), What: c.what, Hint: c.hint})
		}
	}
}
