package job

import (
	"path"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Values of the input mode.
const (
	ModeRun      = "run"
	ModeLint     = "lint"
	ModeDiagram  = "diagram"
	ModeSimulate = "simulate"
)

// Values of the input resume, besides a workflow id.
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

// Settings are the inputs that are not flags of raymond run; Arguments returns the flags. A field with
// an input tag is read from the input of that name.
type Settings struct {
	Mode             string   `input:"mode"`              // a Mode constant
	Workflow         string   `input:"workflow"`          // never empty
	Replies          string   `input:"replies"`           // never empty with ModeSimulate
	WorkingDirectory string   `input:"working-directory"` // as written; "" for the workspace
	Input            string   `input:"input"`             // as written; CleanPromptInput cleans it
	InputFrom        []string `input:"input-from"`        // paths into the event's payload; nil for none
	Key              string   `input:"key"`               // "": DefaultKey
	Matrix           string   // digest of the job's values in a matrix; "" for none
	IsCalled         bool     // the job belongs to a reusable workflow

	Part      []string `input:"part"`       // agents of the part of a matrix that this step runs; nil for the run itself
	MatrixJob string   `input:"matrix-job"` // the job whose matrix gets the waiting agents; "" for the first of next-jobs
	MaxJobs   int      `input:"max-jobs"`   // maximum number of jobs in that matrix
	NamesJob  bool     // the input job, which is a flag, is set
	NoPrompts bool     // every prompt state is refused

	BudgetPerKey state.USD `input:"budget-per-key"` // maximum cost of many runs in 24 hours; 0: no limit
	BudgetPerDay state.USD `input:"budget-per-day"`

	Resume string // a Resume constant, or a workflow id
	// Rerun names the state execution of the run in Resume from which a new run begins: a number, a
	// state, or STATE#k for its k-th execution; "" for none.
	Rerun                   string
	ResumeFrom              []string
	ResumeWithoutTranscript bool   `input:"resume-without-transcript"`
	ChangedWorkflow         string `input:"changed-workflow"` // a Changed constant
	Continuations           int    // how often in a row the step may start its workflow again; 0: never
	RaymondKey              string `input:"raymond-key"` // the key of the run that a dispatch continues; "" for none
	Follows                 string `input:"follows"`     // the output state-digest of another step; "" for none

	Store              string        `input:"store"`     // StoreArtifact or StoreLocal
	StateDir           string        `input:"state-dir"` // never empty with StoreLocal
	StateKey           string        `input:"state-key"`
	CheckpointInterval time.Duration `input:"checkpoint-interval"` // at least 1s
	RetentionDays      int           `input:"retention-days"`      // 1 to 400
	Workspace          string        `input:"workspace"`           // WorkspaceGit or WorkspaceNone

	Summary            bool   `input:"summary"`
	Annotations        bool   `input:"annotations"`
	SuspendedIsFailure bool   `input:"suspended-is-failure"`
	Report             *bool  `input:"report"`        // nil: for runs with prompts in a repository that is known to be private
	Comment            string `input:"comment"`       // CommentNone or CommentSticky
	AnswerPrefix       string `input:"answer-prefix"` // answers in comments begin with it; never empty

	Env           []string `input:"env"` // names of variables to pass on
	ScriptEnv     []string `input:"script-env"`
	Rules         Rules
	OnDenied      string   `input:"on-denied"`      // OnDeniedFail or OnDeniedSkip
	TrustCheckout *bool    `input:"trust-checkout"` // nil: IsCheckoutTrusted decides
	APITools      []string `input:"api-tools"`      // tools that the APIs may run for agents, by the names in these APIs
	AllowSudo     bool     `input:"allow-sudo"`
	TrustSelf     bool     `input:"trust-self"` // agents may write to the action's own directory
	Sandboxed     bool     `input:"sandboxed"`

	Versions    map[string]string // of the agent CLIs to install, exact, by protocol.Backends; none: the tested version
	ModelKeys   map[string]string // keys for models' APIs, by the inputs that are set
	GitHubToken string            `input:"github-token"`
}

// IsLocal reports whether runs are stored in a directory of this machine.
func (s *Settings) IsLocal() bool { return s.Store == StoreLocal }

// InputProblem is a problem with an input, in words for the author of the workflow file.
type InputProblem struct {
	Input string // its name
	Value string // as written, shortened; "" for secrets
	What  string
	Hint  string // what would be right; may be ""
}

// Usage returns the problem as an error of class usage.
func (p InputProblem) Usage() error {
	what := p.What
	if p.Value != "" {
		what = strconv.Quote(p.Value) + ": " + what
	}
	return problem.Usage("input "+p.Input, what, p.Hint)
}

// ReadSettings reads the inputs that are not flags, and reports all problems with them at once. If
// there are problems, the settings must not be used.
func ReadSettings(getenv func(string) string) (Settings, []InputProblem) {
	r := &reader{getenv: getenv}
	r.check()
	prompts, _ := parseBool(r.value("prompts"))
	given := map[string]string{}
	for _, backend := range protocol.Backends() {
		for _, input := range vendors[backend].inputs {
			if v := r.value(input); v != "" {
				given[input] = v
			}
		}
	}
	s := Settings{
		IsCalled: isCalled(getenv, r.value("job-workflow-ref")), NamesJob: r.value("job") != "", NoPrompts: !prompts,
		Versions: r.versions(), ModelKeys: given,
	}
	r.fill(reflect.ValueOf(&s).Elem())
	r.fill(reflect.ValueOf(&s.Rules).Elem())
	s.Matrix, _ = matrixDigest(r.value("matrix-values")) // it was checked
	s.Resume, s.Rerun, _ = strings.Cut(r.value("resume"), "@")
	for _, file := range entries(r.value("resume-from")) {
		s.ResumeFrom = append(s.ResumeFrom, workflowPath(getenv, path.Base(file)))
	}
	if r.value("continue") == ContinueRedispatch {
		s.Continuations, _ = strconv.Atoi(r.value("max-continuations"))
	}
	r.checkCombinations(s)
	return s, r.problems
}

// clash is an invalid combination of inputs, if isThere.
type clash struct {
	isThere           bool
	input, what, hint string
}

// checkCombinations reports inputs that need or exclude each other.
func (r *reader) checkCombinations(s Settings) {
	isLocal, simulates := s.Store == StoreLocal, s.Mode == ModeSimulate
	all := append(sharedRunClashes(s),
		clash{s.Workflow == "", "workflow", "is missing", "name the folder, archive or state file to run"},
		clash{s.Input != "" && len(s.InputFrom) > 0, "input-from", "can't be combined with input", "set only one of them"},
		clash{simulates && s.Replies == "", "replies", "is missing", "mode: simulate needs a replies file"},
		clash{!simulates && s.Replies != "" && !r.hasProblem("mode"), "replies", "has no effect with mode: " + s.Mode, "it needs mode: simulate"},
		clash{s.Follows != "" && isLocal, "follows", "has no effect with store: local", "it needs store: artifact"},
		clash{s.Follows != "" && s.Resume == ResumeNever, "follows", "can't be combined with resume: never", "remove one of them"},
		clash{isLocal && s.StateDir == "", "state-dir", "is missing", "store: local needs a directory"},
		clash{!isLocal && s.StateDir != "" && !r.hasProblem("store"), "state-dir", "has no effect with store: " + s.Store, "it needs store: local"},
	)
	for _, c := range all {
		if c.isThere {
			r.problems = append(r.problems, InputProblem{Input: c.input, Value: shorten(InputValue(r.getenv, c.input)), What: c.what, Hint: c.hint})
		}
	}
}

// sharedRunClashes returns the clashes of a step that shares its run with other jobs.
func sharedRunClashes(s Settings) []clash {
	input, isPart := "job", len(s.Part) > 0
	if isPart {
		input = "part"
	}
	return []clash{
		{
			(s.NamesJob || isPart) && s.Key == "" && s.Mode == ModeRun, "key",
			"is missing: a step with the input " + input + " shares its run with other jobs, but the default key is only for this job", "set the same key in all jobs of the run",
		},
		{isPart && s.Store == StoreLocal, "part", "has no effect with store: local", "it needs store: artifact, with which the jobs of a matrix find the run"},
		{isPart && s.Resume == ResumeNever, "part", "can't be combined with resume: never", "remove one of them"},
	}
}
