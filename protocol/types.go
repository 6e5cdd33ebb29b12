package protocol

import (
	"time"

	"github.com/raymond-action/raymond-action/protocol/schema"
)

// Verb is the name of a transition tag.
type Verb string

// The verbs.
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

// Problem is something wrong in a message or a workflow file that its author can fix.
// It is data, not an error.
type Problem struct {
	File    string `json:"file,omitempty"` // "" for an agent's message
	Pos     Pos    `json:"pos,omitzero"`
	Code    string `json:"code"`           // stable, as in "no-state"
	Message string `json:"message"`        // the mistake, lower case, no full stop
	Hint    string `json:"hint,omitempty"` // what would be right
}

// Tag is a transition tag as written, before any check against a workflow.
type Tag struct {
	Verb  Verb
	Attrs map[string]string // decoded
	Body  string            // as written: not trimmed, not decoded
	Pos   Pos
}

// Kind is the kind of a state, which decides how it runs.
type Kind string

// The kinds of state.
const (
	Prompt Kind = "prompt"
	Script Kind = "script"
)

// Platform is the family of operating systems that a workflow is resolved for.
type Platform string

// The platforms.
const (
	Unix    Platform = "unix"
	Windows Platform = "windows"
)

// State is one file of a workflow.
type State struct {
	Name   string // file name with extension
	Kind   Kind
	Body   string // prompts: the text after the frontmatter; scripts: all of it
	Line   int    // line of the file at which Body begins, from 1
	SHA256 string // of the file's bytes, hex
	Policy Policy
	// Problems are the reasons why the state can't be run, for example bad frontmatter or UTF-8.
	Problems []Problem
	// Warnings are for lint, for example unknown frontmatter keys.
	Warnings []Problem
	Evidence Evidence
	// Trusted is the option trusted=true: the script is the workflow's own code, may get secrets,
	// and can't see files that agents can write. Work is the option work=true: the script gets
	// the agents' work as a repository. Workflows is the option workflows=true: the repository
	// includes changes to files that forges run.
	Trusted, Work, Workflows bool
	// Job is the job that runs the state; "" means MainJob.
	Job string
	// OnComment is the resolved state with which a comment continues a completed run; "" for
	// none. It has an effect in the entry only.
	OnComment string
	// SchemaFiles are the schema files of the workflow that the state names.
	SchemaFiles []string
	// References are the states that the policy names.
	References []Reference

	tags  []ParsedTag // in the text; positions are in the file
	scope *scope
}

// Evidence records which signs show that a file looks like a state.
type Evidence struct {
	// HasOwnKey is true if a prompt has a frontmatter key that only this program uses. Its policy
	// is then checked at the start, even if no state names the file.
	HasOwnKey bool
	// HasKnownKey is true if a prompt has a known frontmatter key, which other tools may use too.
	HasKnownKey bool
	// HasMarker is true if the file has a frontmatter key that only this program uses, an options
	// comment or a transition tag.
	HasMarker bool
}

// Reference is a place in the policy of a state that names another state, which must resolve.
type Reference struct {
	Role string // "target", "return", "next", "timeout_next", "on_exhausted", "on_comment" or "targets"
	Name string // as written, trimmed
	Pos  Pos    // in the file
}

// Policy is the frontmatter of a prompt, or the options comment of a script.
type Policy struct {
	Transitions Transitions
	// Backend is the agent CLI that runs the state, from the key agent; "" for the agent CLI of
	// the run.
	Backend                       string
	Model, Effort                 string
	Timeout, IdleTimeout          *time.Duration
	PermissionMode                string
	AllowedTools, DisallowedTools []string

	// ResultSchema describes the results that the state may end with, InputSchema the payloads
	// that it may start with; nil allows any text.
	ResultSchema, InputSchema *schema.Schema

	Convergence *Convergence // nil without done_when
	// Plain marks a plain prompt that the command line repeats until commands pass (the Ralph
	// loop). Its final message, unchanged, is its result.
	Plain bool
}

// Transitions are the transitions that a state may end with.
type Transitions struct {
	// Restricted is true if the policy lists allowed transitions, even if the list is empty.
	Restricted bool
	Allowed    []Rule   // allowed_transitions
	Tags       []Verb   // allowed_tags; nil: any
	Targets    []string // allowed_targets, or the option targets of a script; nil: any
	ManyForks  bool     // scripts: many_forks=true
	// Asks are the attributes with which an untrusted script may choose the people and the place of a question
	// (ask=where,from). Dirs is true if it may write the attribute cd (cd=true).
	Asks []string
	Dirs bool
}

// Rule allows one transition. An empty field allows every value, except that an empty Tag allows
// no join and no ask.
type Rule struct {
	Tag     Verb
	States  map[string]string // as written in the policy, by role
	Payload *string           // a fixed result
	Many    bool              // several forks at once
	Attrs   map[string]string // other attributes that the tag must have
	Pos     Pos
}

// Convergence is the part of a policy that docs/language.md describes under done_when: commands
// decide whether a state is done.
type Convergence struct {
	DoneWhen       []string
	MaxAttempts    int
	Backoff        Backoff
	AttemptContext string // "entry", "fresh", "continue"
	Timeout        time.Duration
	OnExhausted    string // "fail", "suspend", or a resolved state
	Protect        []string
}

// Backoff is the wait between attempts: Base, which doubles up to Max. A zero Base means no
// wait.
type Backoff struct{ Base, Max time.Duration }

// Decision is the meaning of a final message: any number of new agents, and exactly one move of
// the agent itself.
type Decision struct {
	Spawns []Spawn `json:"spawns,omitempty"`
	Then   Move    `json:"then"`
}

// Spawn is a new agent that a fork tag starts.
type Spawn struct {
	State string            `json:"state" is:"file"` // resolved
	Next  string            `json:"next" is:"file"`  // resolved; the state in which the parent continues
	Dir   string            `json:"dir,omitempty"`   // attribute cd, as written
	Input string            `json:"input,omitempty"`
	Vars  map[string]string `json:"vars,omitempty"`
}

// Move is where an agent goes next. Its Verb is never Fork: a fork is a Spawn
// and a Goto.
type Move struct {
	Verb   Verb   `json:"verb"`
	To     string `json:"to,omitempty" is:"file?"`     // resolved; "" for Result
	Return string `json:"return,omitempty" is:"file?"` // resolved; Call and Function
	Dir    string `json:"dir,omitempty"`               // Reset: attribute cd, as written
	Model  string `json:"model,omitempty"`             // Function
	// Backend is the agent CLI that runs To, from the attribute agent; Function only.
	Backend string `json:"backend,omitempty"`
	Input   string `json:"input,omitempty"`
	Text    string `json:"text,omitempty"` // Result: unchanged
	// After is how long the agent waits before To starts; Goto and Reset only, 0 for no wait.
	After time.Duration `json:"after,omitempty"`
	// Question is the question to people; Ask only.
	Question *Question `json:"question,omitempty"`
}

// MainJob is the job of states that name no job.
const MainJob = "main"

// Question is a question that an ask tag puts to people.
type Question struct {
	Text    string   `json:"text"`              // without surrounding white space
	Choices []string `json:"choices,omitempty"` // the possible answers, as written; nil for any answer
	// Timeout is how long the question waits for an answer, 0 without limit. TimeoutNext is the
	// resolved state that follows a timeout.
	Timeout     time.Duration `json:"timeout,omitempty"`
	TimeoutNext string        `json:"timeout_next,omitempty" is:"file?"`
	Where       int           `json:"where,omitempty"` // number of the issue or pull request; 0 for the event's
	From        []string      `json:"from,omitempty"`  // logins that may answer; nil for everyone who may start the run
	// Untrusted is true if From may include the author of the issue, who may be a stranger.
	Untrusted bool `json:"untrusted,omitempty"`
}
