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

// Pos is a place in a text; both numbers start at 1, columns count characters.
// The zero Pos means the text as a whole.
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
	Message string `json:"message"`        // what is wrong, lower case, no full stop
	Hint    string `json:"hint,omitempty"` // what would be right
}

// Tag is a transition tag as it was written, before any check against a workflow.
type Tag struct {
	Verb  Verb
	Attrs map[string]string // decoded
	Body  string            // as written: not trimmed, not decoded
	Pos   Pos
}

// Kind says how a state is run.
type Kind string

// The kinds of state.
const (
	Prompt Kind = "prompt"
	Script Kind = "script"
)

// Platform is the family of systems a workflow is resolved for.
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
	// Problems says why the state can't be run (bad frontmatter, bad UTF-8).
	Problems []Problem
	// Warnings are for lint: unknown frontmatter keys.
	Warnings []Problem
	Evidence Evidence
	// Trusted is a script's option trusted=true: the script is the workflow's own code, may get secrets, and can't see anything
	// that agents can write. Work is work=true: the script gets the agents' work as a repository. Workflows is workflows=true:
	// that repository includes changes to files that forges run.
	Trusted, Work, Workflows bool
	// Job is the job that runs the state, "" for MainJob.
	Job string
	// OnComment is the state, resolved, with which a comment continues a run of which
	// this is the entry and which is completed; "" for none.
	OnComment string
	// SchemaFiles are the files of the workflow that the state names for its schemas.
	SchemaFiles []string
	// References are the states that the policy names.
	References []Reference

	tags  []ParsedTag // in the text, with their places in the file
	scope *scope
}

// Evidence say by what a file shows that it is meant as a state.
type Evidence struct {
	// HasOwnKey says that a prompt has a frontmatter key that is ours alone, so that
	// it is checked at the start whether or not anything names it.
	HasOwnKey bool
	// HasKnownKey says that a prompt has a frontmatter key of ours, which other tools
	// may have too.
	HasKnownKey bool
	// HasMarker says that the file has a frontmatter key that is ours alone, an
	// options comment or a transition tag.
	HasMarker bool
}

// Reference is a place in the policy of a state that names another state, which must resolve.
type Reference struct {
	Role string // "target", "return", "next", "timeout_next", "on_exhausted", "on_comment" or "targets"
	Name string // as spelled, trimmed
	Pos  Pos    // in the file
}

// Policy is the frontmatter of a prompt, or the options comment of a script.
type Policy struct {
	Transitions Transitions
	// Backend is the agent CLI that runs the state, as the key agent names it; "" for the
	// run's.
	Backend                       string
	Model, Effort                 string
	Timeout, IdleTimeout          *time.Duration
	PermissionMode                string
	AllowedTools, DisallowedTools []string

	// ResultSchema says which results the state may end with, InputSchema with which
	// payloads it starts; nil for any text.
	ResultSchema, InputSchema *schema.Schema

	Convergence *Convergence // nil without done_when
	// Plain says that the state is a plain prompt whose final message, as it is,
	// is its result: the Ralph loop of the command line.
	Plain bool
}

// Transitions say how a state may end.
type Transitions struct {
	// Restricted says that there is a list of what is allowed, which may be empty.
	Restricted bool
	Allowed    []Rule   // allowed_transitions
	Tags       []Verb   // allowed_tags; nil: any
	Targets    []string // allowed_targets, of scripts targets; nil: any
	ManyForks  bool     // scripts: many_forks=true
	// Asks are the attributes by which a script that is not trusted may say who is asked, and
	// where (ask=where,from); Dirs says that it may write cd (cd=true).
	Asks []string
	Dirs bool
}

// Rule allows one transition. An empty field allows anything, but an empty Tag no join and
// no ask.
type Rule struct {
	Tag     Verb
	States  map[string]string // as the policy spells them, by the part of the tag that names them
	Payload *string           // a fixed result
	Many    bool              // fork: several tags at once
	Attrs   map[string]string // other keys that the tag must carry
	Pos     Pos
}

// Convergence is the part of a policy that convergence.md of the documentation
// describes: commands that decide whether a state is done.
type Convergence struct {
	DoneWhen       []string
	MaxAttempts    int
	Backoff        Backoff
	AttemptContext string // "entry", "fresh", "continue"
	Timeout        time.Duration
	OnExhausted    string // "fail", "suspend", or a state, resolved
	Protect        []string
}

// Backoff is the wait between attempts: Base doubles up to Max; zero Base means
// none.
type Backoff struct{ Base, Max time.Duration }

// Decision is what a finished message amounts to: any number of new agents, and
// exactly one move for the agent itself.
type Decision struct {
	Spawns []Spawn `json:"spawns,omitempty"`
	Then   Move    `json:"then"`
}

// Spawn is one fork tag.
type Spawn struct {
	State string            `json:"state" is:"file"` // resolved
	Next  string            `json:"next" is:"file"`  // resolved; where the parent continues
	Dir   string            `json:"dir,omitempty"`   // cd, as written
	Input string            `json:"input,omitempty"`
	Vars  map[string]string `json:"vars,omitempty"`
}

// Move is where an agent goes next. Its Verb is never Fork: a fork is a Spawn
// and a Goto.
type Move struct {
	Verb   Verb   `json:"verb"`
	To     string `json:"to,omitempty" is:"file?"`     // resolved; "" for Result
	Return string `json:"return,omitempty" is:"file?"` // resolved; Call and Function
	Dir    string `json:"dir,omitempty"`               // Reset: cd, as written
	Model  string `json:"model,omitempty"`             // Function
	// Backend is the agent CLI that runs To, as the attribute agent names it; Function.
	Backend string `json:"backend,omitempty"`
	Input   string `json:"input,omitempty"`
	Text    string `json:"text,omitempty"` // Result: byte for byte
	// After is how long the agent waits before To starts; Goto and Reset, 0 for not at all.
	After time.Duration `json:"after,omitempty"`
	// Question is what people are asked; Ask.
	Question *Question `json:"question,omitempty"`
}

// MainJob is the job of the states that name none.
const MainJob = "main"

// Question is what an ask tag asks people.
type Question struct {
	Text    string   `json:"text"`              // without blanks around it
	Choices []string `json:"choices,omitempty"` // what may be answered, as it is spelled here; nil for anything
	// Timeout is how long it waits for an answer, 0 for ever; TimeoutNext is the state,
	// resolved, that comes then.
	Timeout     time.Duration `json:"timeout,omitempty"`
	TimeoutNext string        `json:"timeout_next,omitempty" is:"file?"`
	Where       int           `json:"where,omitempty"` // number of the issue or pull request; 0 for that of the event
	From        []string      `json:"from,omitempty"`  // logins that may answer; nil for all who may start the run
	// Untrusted says that From may name the author of the issue, whoever that is.
	Untrusted bool `json:"untrusted,omitempty"`
}
