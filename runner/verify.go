package runner

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Verifier decides whether an attempt of a state with done_when is done.
type Verifier interface {
	// Verify runs every command, in order, all of them even after one failed,
	// and returns when everything they started is gone. When ctx is done it ends
	// them and says so in the Verification.
	Verify(ctx context.Context, c Checks) state.Verification
	// Digest returns a digest of each file below dir that matches a pattern.
	Digest(dir string, patterns []string) map[string]string
}

// Checks is everything a worker needs to verify one attempt.
type Checks struct {
	Agent     string
	Commands  []string
	Timeout   time.Duration // of one command
	Dir       string        // absolute
	Env       []string      // RAYMOND_* variables
	Mark      string
	Protect   []string
	Protected map[string]string // digests when the state was entered
	LogFile   string            // absolute; replaced
	Attempt   int
	AgentCode int    // exit code of the agent CLI: logged, not consulted
	Refused   string // why the agent has no transition, "" when it has one: logged
	// Begins, when not nil, is called before each command, by the goroutine of
	// Verify.
	Begins func(command string)
}

// checks makes the order for the verification of a's attempt.
func (r *Runner) checks(a *state.Agent, st *protocol.State, env []string) *Checks {
	c, e := st.Policy.Convergence, a.Exec
	return &Checks{
		Agent: a.ID, Commands: c.DoneWhen, Timeout: c.Timeout, Dir: r.dir(a), Env: env,
		Mark: r.run.Mark + "." + strconv.Itoa(e.Running.N), Protect: c.Protect, Protected: e.Protected,
		LogFile: filepath.Join(r.cfg.LogDir, a.ID, a.State+".log"), Attempt: e.Attempt, AgentCode: e.AgentCode, Refused: e.Refused,
	}
}

// attemptText is what a prompt of a state with done_when is, from the second
// attempt on: the report of the one before is in it, or comes after it.
func (r *Runner) attemptText(a *state.Agent, st *protocol.State) string {
	c, report := st.Policy.Convergence, r.failure(a, st)
	if c.AttemptContext == "continue" {
		return report
	}
	text := protocol.Render(st.Body, r.lookup(a, st))
	for _, name := range protocol.TemplateNames(st.Body) {
		if name == "failure" {
			return text
		}
	}
	return text + "\n\n" + report
}

// failure is the report of the attempt before, or of the state that gave up.
func (r *Runner) failure(a *state.Agent, st *protocol.State) string {
	if c := st.Policy.Convergence; c != nil && a.Exec.Verdict != nil {
		return a.Exec.Verdict.Report(c.MaxAttempts)
	}
	return string(a.Report)
}

// lookupAttempt finds the template values that belong to attempts.
func (r *Runner) lookupAttempt(a *state.Agent, st *protocol.State, name string) (string, bool) {
	c := st.Policy.Convergence
	switch {
	case name == "failure" && (c != nil || a.Report != ""):
		return r.failure(a, st), true
	case name == "attempt" && c != nil:
		return strconv.Itoa(a.Exec.Attempt), true
	case name == "max_attempts" && c != nil:
		return strconv.Itoa(c.MaxAttempts), true
	}
	return "", false
}
