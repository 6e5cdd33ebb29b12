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

// What the input mode may be.
const (
	ModeRun      = "run"
	ModeLint     = "lint"
	ModeDiagram  = "diagram"
	ModeSimulate = "simulate"
)

// What the input resume may be, besides a workflow id.
const (
	ResumeAuto    = "auto"
	ResumeNever   = "never"
	ResumeRequire = "require"
)

// What the input changed-workflow may be.
const (
	ChangedTake   = "take"
	ChangedNew    = "new"
	ChangedRefuse = "refuse"
)

// What the inputs store, workspace, comment, on-denied and continue may be.
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

// Settings are the inputs that are the Action's own; those that are flags of
// raymond run come from Arguments. A field with an input's name is read from that.
type Settings struct {
	Mode             string   `input:"mode"`              // one of the Mode constants
	Workflow         string   `input:"workflow"`          // never empty
	Replies          string   `input:"replies"`           // with ModeSimulate, then never empty
	WorkingDirectory string   `input:"working-directory"` // as written; "" for the workspace
	Input            string   `input:"input"`             // as written; the function Input cleans it
	InputFrom        []string `input:"input-from"`        // paths into the event's payload; nil for none
	Key              string   `input:"key"`               // "": DefaultKey
	Matrix           string   // digest of the values of a matrix's leg; "" for none
	IsCalled         bool     // the job is one of a reusable workflow

	Part      []string `input:"part"`       // agents, of a part of a matrix that this step runs; nil for the run itself
	MatrixJob string   `input:"matrix-job"` // for whose matrix agents are handed over; "" for the first of next-jobs
	MaxJobs   int      `input:"max-jobs"`   // of that matrix, at most
	NamesJob  bool     // the input job says whose states the step runs, which is a flag
	NoPrompts bool     // every prompt state is refused

	BudgetPerKey state.USD `input:"budget-per-key"` // what many runs may cost in 24 hours; 0 for no limit
	BudgetPerDay state.USD `input:"budget-per-day"`

	Resume string // one of the Resume constants, or a workflow id
	// Rerun says from which state execution of the run that Resume names a new run begins: a
	// number, a state, or STATE#k for its k-th execution; "" for none.
	Rerun                   string
	ResumeFrom              []string
	ResumeWithoutTranscript bool   `input:"resume-without-transcript"`
	ChangedWorkflow         string `input:"changed-workflow"` // one of the Changed constants
	Continuations           int    // how often in a row the step may start its workflow again; 0 for never
	RaymondKey              string `input:"raymond-key"` // the key of the run that a dispatch continues; "" for none
	Follows                 string `input:"follows"`     // what another step gave as state-digest; "" for nothing

	Store              string        `input:"store"`     // StoreArtifact or StoreLocal
	StateDir           string        `input:"state-dir"` // with StoreLocal, then never empty
	StateKey           string        `input:"state-key"`
	CheckpointInterval time.Duration `input:"checkpoint-interval"` // 1s at least
	RetentionDays      int           `input:"retention-days"`      // 1 to 400
	Workspace          string        `input:"workspace"`           // WorkspaceGit or WorkspaceNone

	Summary            bool   `input:"summary"`
	Annotations        bool   `input:"annotations"`
	SuspendedIsFailure bool   `input:"suspended-is-failure"`
	Report             *bool  `input:"report"`        // nil: for runs with prompts in a repository that is known to be private
	Comment            string `input:"comment"`       // CommentNone or CommentSticky
	AnswerPrefix       string `input:"answer-prefix"` // with which answers in comments begin; never empty

	Env           []string `input:"env"` // names that may be passed on
	ScriptEnv     []string `input:"script-env"`
	Rules         Rules
	OnDenied      string   `input:"on-denied"`      // OnDeniedFail or OnDeniedSkip
	TrustCheckout *bool    `input:"trust-checkout"` // nil: Trusted decides
	APITools      []string `input:"api-tools"`      // what the APIs may run for agents, by the names in these APIs
	AllowSudo     bool     `input:"allow-sudo"`
	TrustSelf     bool     `input:"trust-self"` // the action's own folder may lie where agents can write
	Sandboxed     bool     `input:"sandboxed"`

	Versions    map[string]string // of the agent CLIs to install, exact, by protocol.Backends; those that were tested where there is none
	ModelKeys   map[string]string // of models' APIs, by the input that gives them; those that are given
	GitHubToken string            `input:"github-token"`
}

// IsLocal reports whether runs are kept in a folder of the machine.
func (s *Settings) IsLocal() bool { return s.Store == StoreLocal }

// InputProblem is what is wrong with an input, worded for whoever wrote it.
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

// ReadSettings reads the Action's own inputs, and reports everything that is
// wrong with them at once. With problems the settings are not to be used.
func ReadSettings(getenv func(string) string) (Settings, []InputProblem) {
	r := &reader{getenv: getenv}
	r.check()
	prompts, _ := truth(r.value("prompts"))
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
	s.Matrix, _ = matrixDigest(r.value("matrix-values")) // as it was checked
	s.Resume, s.Rerun, _ = strings.Cut(r.value("resume"), "@")
	for _, file := range entries(r.value("resume-from")) {
		s.ResumeFrom = append(s.ResumeFrom, workflowPath(getenv, path.Base(file)))
	}
	if r.value("continue") == ContinueRedispatch {
		s.Continuations, _ = strconv.Atoi(r.value("max-continuations"))
	}
	r.combinations(s)
	return s, r.problems
}

// clash is a combination of inputs that is wrong, if it is there.
type clash struct {
	isThere           bool
	input, what, hint string
}

// combinations reports inputs that need or exclude each other.
func (r *reader) combinations(s Settings) {
	isLocal, simulates := s.Store == StoreLocal, s.Mode == ModeSimulate
	all := append(sharing(s),
		clash{s.Workflow == "", "workflow", "is missing", "name the folder, archive or state file to run"},
		clash{s.Input != "" && len(s.InputFrom) > 0, "input-from", "contradicts the input input", "leave one of them out"},
		clash{simulates && s.Replies == "", "replies", "is missing", "mode simulate needs a file of replies"},
		clash{!simulates && s.Replies != "" && !r.faulty("mode"), "replies", "is of no use with mode " + s.Mode, "it goes with mode: simulate"},
		clash{s.Follows != "" && isLocal, "follows", "is of no use with store local", "it goes with store: artifact"},
		clash{s.Follows != "" && s.Resume == ResumeNever, "follows", "contradicts resume: never", "leave one of them out"},
		clash{isLocal && s.StateDir == "", "state-dir", "is missing", "store local needs a folder"},
		clash{!isLocal && s.StateDir != "" && !r.faulty("store"), "state-dir", "is of no use with store " + s.Store, "it goes with store: local"},
	)
	for _, c := range all {
		if c.isThere {
			r.problems = append(r.problems, InputProblem{Input: c.input, Value: shorten(InputValue(r.getenv, c.input)), What: c.what, Hint: c.hint})
		}
	}
}

// sharing are the clashes of a step whose run has several jobs: the default key is no other job's.
func sharing(s Settings) []clash {
	input, isPart := "job", len(s.Part) > 0
	if isPart {
		input = "part"
	}
	return []clash{
		{
			(s.NamesJob || isPart) && s.Key == "" && s.Mode == ModeRun, "key",
			"is missing: a step with the input " + input + " shares its run with other jobs, and the default key is this job's alone", "give the same key to all jobs of the run",
		},
		{isPart && s.Store == StoreLocal, "part", "is of no use with store local", "it goes with store: artifact, by which the jobs of a matrix find the run"},
		{isPart && s.Resume == ResumeNever, "part", "contradicts resume: never", "leave one of them out"},
	}
}
