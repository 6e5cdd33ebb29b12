package protocol

import (
	"time"

	"github.com/raymond-action/raymond-action/protocol/schema"
)

// Verb is the name of a transition tag.
type Verb string

// The verbs of all transition tags.
const (
	Goto     Verb = "goto"
	Reset    Verb = "reset"
	Call     Verb = "call"
	Function Verb = "function"
	Fork     Verb = "fork"
	Result   Verb = "result"
	Join     Verb = "join"
	Ask      Verb = "ask"
)

// Pos is a position in a text. Lines and columns count from 1; columns count characters. The
// zero Pos means the text as a whole.
type Pos struct {
	Line int `json:"line,omitempty"`
	Col  int `json:"col,omitempty"`
}

// Problem is a mistake in a message or a workflow file that its author can fix. It is data, not an
// error.
type Problem struct {
	File    string `json:"file,omitempty"` // "" for a problem in an agent's message
	Pos     Pos    `json:"pos,omitzero"`
	Code    string `json:"code"`           // identifies the kind of mistake, for example "no-state"
	Message string `json:"message"`        // describes the mistake, in lower case and without a full stop
	Hint    string `json:"hint,omitempty"` // how to fix it
}

// Tag is a transition tag as written, before any check against a workflow.
type Tag struct {
	Verb  Verb
	Attrs map[string]string // values are decoded, for example &quot; to "
	Body  string            // as written, neither trimmed nor decoded
	Pos   Pos
}

// Kind is the kind of a state, which decides how it runs.
type Kind string

// The kinds of state.
const (
	Prompt Kind = "prompt"
	Script Kind = "script"
)

// Platform is a family of operating systems. It decides which of a workflow's scripts can run.
type Platform string

// The platforms.
const (
	Unix    Platform = "unix"
	Windows Platform = "windows"
)

// State is one state of a workflow, as its file describes it.
type State struct {
	Name   string // file name with extension
	Kind   Kind
	Body   string // of a prompt, the text after the frontmatter; of a script, the whole file
	Line   int    // line of the file at which Body begins, counted from 1
	SHA256 string // of the file, in hex
	Policy Policy
	// Problems are the reasons why the state can't be run, for example bad frontmatter or UTF-8.
	Problems []Problem
	// Warnings are mistakes that don't prevent a run and that only lint reports, for example
	// unknown frontmatter keys.
	Warnings []Problem
	Evidence Evidence
	// Trusted is the option trusted=true: the script is the workflow's own code, may get secrets,
	// and can't see files that agents can write. Work is the option work=true: the script gets
	// the agents' work as a repository. Workflows is the option workflows=true: this repository
	// also contains the agents' changes to files that the forge runs, such as GitHub workflows.
	Trusted, Work, Workflows bool
	// Job is the job that runs the state. If empty, it is MainJob.
	Job string
	// OnComment is the file of the state at which a comment continues a completed run. If empty, a
	// comment doesn't continue the run. Only the OnComment of the workflow's first state (Workflow.Entry)
	// has an effect.
	OnComment string
	// SchemaFiles are the names of the schema files that the state's policy uses.
	SchemaFiles []string
	// References are the states that the policy names.
	References []Reference

	tags  []ParsedTag // the tags in the text; positions are in the file
	scope *scope
}

// Evidence records the signs that a file is meant as a state.
type Evidence struct {
	// HasOwnKey is true if a prompt has a frontmatter key that only this program uses. Its policy
	// is then checked before a run starts, even if no state names the file.
	HasOwnKey bool
	// HasKnownKey is true if a prompt has a known frontmatter key, which other tools may use too.
	HasKnownKey bool
	// HasMarker is true if the file has a frontmatter key that only this program uses, an options
	// comment or a transition tag.
	HasMarker bool
}

// Reference is a mention of another state in a state's policy. The name must be the name of an
// existing state.
type Reference struct {
	Role string // "target", "return", "next", "timeout_next", "on_exhausted", "on_comment" or "targets"
	Name string // as written, trimmed
	Pos  Pos    // in the file
}

// Policy contains the settings in the frontmatter of a prompt, or in the options of a script.
type Policy struct {
	Transitions Transitions
	// Backend is the agent CLI that runs the state, from the key agent. If empty, the agent CLI
	// that holds the conversation runs the state. If no agent CLI holds it, the run's does.
	Backend                       string
	Model, Effort                 string
	Timeout, IdleTimeout          *time.Duration
	PermissionMode                string
	AllowedTools, DisallowedTools []string

	// ResultSchema describes the results that the state may end with, InputSchema the payloads
	// that it may start with. A nil schema allows any text.
	ResultSchema, InputSchema *schema.Schema

	Convergence *Convergence // nil without done_when
	// Plain marks a plain prompt that the command line repeats until commands pass (the Ralph
	// loop). Its final message, unchanged, is its result.
	Plain bool
}

// Transitions defines which transitions a state may end with.
type Transitions struct {
	// Restricted is true if the policy lists allowed transitions, even if the list is empty.
	Restricted bool
	Allowed    []Rule   // the key allowed_transitions
	Tags       []Verb   // the key allowed_tags; nil if it is not set
	Targets    []string // the key allowed_targets, or a script's option targets; nil if not set
	ManyForks  bool     // a script's option many_forks=true
	// Asks are the attributes with which an untrusted script may choose who is asked and where
	// (ask=where,from). Dirs is true if the script may write the attribute cd (cd=true).
	Asks []string
	Dirs bool
}

// Rule allows one transition. An empty field allows every value, except that an empty Tag allows
// no join and no ask.
type Rule struct {
	Tag     Verb
	States  map[string]string // as written in the policy, by role
	Payload *string           // the only text that the result may have
	Many    bool              // true if a message may contain several forks
	Attrs   map[string]string // other attributes that the tag must have, with their values
	Pos     Pos
}

// Convergence contains the keys of a policy with which commands decide whether a state is done.
// docs/language.md describes them under done_when.
type Convergence struct {
	DoneWhen       []string
	MaxAttempts    int
	Backoff        Backoff
	AttemptContext string // "entry", "fresh" or "continue"
	Timeout        time.Duration
	OnExhausted    string // "fail", "suspend" or the file of a state
	Protect        []string
}

// Backoff is the wait between attempts. It begins with Base and doubles until it reaches Max. A
// zero Base means no wait.
type Backoff struct{ Base, Max time.Duration }

// Decision is the meaning of a final message: the new agents that it starts, and exactly one move
// of the agent itself.
type Decision struct {
	Spawns []Spawn `json:"spawns,omitempty"`
	Then   Move    `json:"then"`
}

// Spawn is a new agent that a fork tag starts.
type Spawn struct {
	State string            `json:"state" is:"file"` // file of the state in which the agent begins
	Next  string            `json:"next" is:"file"`  // file of the state in which the parent continues
	Dir   string            `json:"dir,omitempty"`   // the attribute cd, as written
	Input string            `json:"input,omitempty"`
	Vars  map[string]string `json:"vars,omitempty"`
}

// Move is an agent's transition to its next state, or its result. Its Verb is never Fork, because
// a fork becomes a Spawn and a Goto.
type Move struct {
	Verb   Verb   `json:"verb"`
	To     string `json:"to,omitempty" is:"file?"`     // file of the next state; "" for Result
	Return string `json:"return,omitempty" is:"file?"` // the state that gets the result; for Call and Function
	Dir    string `json:"dir,omitempty"`               // the attribute cd, as written; only for Reset
	Model  string `json:"model,omitempty"`             // only for Function
	// Backend is the agent CLI that runs To, from the attribute agent. It is set only for Function.
	Backend string `json:"backend,omitempty"`
	Input   string `json:"input,omitempty"`
	Text    string `json:"text,omitempty"` // the result, unchanged; only for Result
	// After is how long the agent waits before To starts. It is set only for Goto and Reset. Zero
	// means no wait.
	After time.Duration `json:"after,omitempty"`
	// Question is the question to users. It is set only for Ask.
	Question *Question `json:"question,omitempty"`
}

// MainJob is the job that runs the states which name no job.
const MainJob = "main"

// Question is a question to users, from an ask tag.
type Question struct {
	Text    string   `json:"text"`              // without surrounding white space
	Choices []string `json:"choices,omitempty"` // the allowed answers, as written; nil allows any answer
	// Timeout is how long the question waits for an answer. Zero means without limit. TimeoutNext
	// is the file of the state that follows when the timeout has passed.
	Timeout     time.Duration `json:"timeout,omitempty"`
	TimeoutNext string        `json:"timeout_next,omitempty" is:"file?"`
	Where       int           `json:"where,omitempty"` // issue or pull request number; 0 means the one in the run's event
	From        []string      `json:"from,omitempty"`  // logins that may answer; nil allows everyone who may start the run
	// Untrusted is true if From may include the author of the issue, who may be a stranger.
	Untrusted bool `json:"untrusted,omitempty"`
}
