package state

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/protocol"
)

// The patterns are compiled when they are first needed, because that takes long. What is
// checked in every run is checked without one.
var (
	agentID  = pattern(`^main(_[a-z0-9_]{0,6}[0-9]+)*$`)
	jobName  = pattern(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	tokenHex = pattern(`^[0-9a-f]{32}$`)
)

func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// ValidID reports whether s may be the id of a run.
func ValidID(s string) bool {
	return hasLength(s, 1, 64) && s[0] != '-' && consistsOf(s, lowerCase+digits+"-")
}

// ValidSession reports whether s may be the id of a conversation. It is part of
// file names.
func ValidSession(s string) bool {
	return hasLength(s, 1, 128) && !strings.ContainsRune("_.-", rune(s[0])) && consistsOf(s, upperCase+lowerCase+digits+"_.-")
}

// isSHA256 reports whether s is a SHA-256 as this program writes it.
func isSHA256(s string) bool { return hasLength(s, 64, 64) && consistsOf(s, digits+"abcdef") }

const (
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	digits    = "0123456789"
)

// hasLength reports whether s has at least and at most so many bytes.
func hasLength(s string, least, most int) bool { return least <= len(s) && len(s) <= most }

// consistsOf reports whether all characters of s are among some.
func consistsOf(s, some string) bool { return strings.Trim(s, some) == "" }

// checker keeps the first problem of a run.
type checker struct{ err *FileError }

// want notes a problem of a field unless ok.
func (c *checker) want(ok bool, field, what string, args ...any) {
	if !ok && c.err == nil {
		c.err = &FileError{Field: field, What: fmt.Sprintf(what, args...)}
	}
}

// wantCLI notes a problem of the agent CLI at a place, or of its own id of a conversation.
func (c *checker) wantCLI(at, backend, id string) {
	c.want(backend == "" || protocol.IsBackend(backend), at+".backend", "%q is not an agent", backend)
	c.want(id == "" || ValidSession(id), at+".cli_id", "%q is not a session id", id)
}

// Validate returns nil for a run that this program could have written.
// Its error is a *FileError that names the first field that is wrong.
func (r *Run) Validate() error {
	c := &checker{}
	v := validation{r, c}
	v.checkHead()
	v.checkCounts()
	r.Options.check(c)
	v.checkProgress()
	seen := map[string]bool{}
	v.checkEnded(seen)
	v.checkLiving(seen)
	if c.err == nil {
		v.checkFamily()
	}
	if l := r.Last; l != nil {
		l.Session.check(c, "last.session")
		c.want(l.Dir == "" || filepath.IsAbs(l.Dir), "last.dir", "%q is not an absolute path", l.Dir)
	}
	v.checkLedger()
	r.Parts.check(c, &r.Progress)
	v.checkTrace()
	if c.err != nil {
		return c.err
	}
	return nil
}

// validation checks the fields of a run.
type validation struct {
	run *Run
	*checker
}

// checkEnded checks the agents that have ended, and notes their names in seen.
func (v validation) checkEnded(seen map[string]bool) {
	for i, e := range v.run.Ended {
		at := fmt.Sprintf("ended[%d]", i)
		v.want(agentID().MatchString(e.Agent), at+".agent", "%q is not the name of an agent", e.Agent)
		v.want(e.Dir == "" || filepath.IsAbs(e.Dir), at+".dir", "%q is not an absolute path", e.Dir)
		v.want(!seen[e.Agent], at+".agent", "%q ended twice", e.Agent)
		v.want(e.Parent == "" || agentID().MatchString(e.Parent), at+".parent", "%q is not the name of an agent", e.Parent)
		v.want(e.Error == "" || e.Result == "", at+".error", "is there beside a result")
		v.want(e.N <= v.run.Progress.Created, at+".n", "is %d, but %d agents were created", e.N, v.run.Progress.Created)
		seen[e.Agent] = true
	}
}

// checkLiving checks the agents that have not ended. seen has the names of the others.
func (v validation) checkLiving(seen map[string]bool) {
	last, asked := 0, map[int]bool{}
	for i, a := range v.run.Agents {
		at := fmt.Sprintf("agents[%d]", i)
		v.want(a != nil, at, "is missing")
		if v.err != nil {
			return
		}
		v.want(!seen[a.ID], at+".id", "%q appears twice", a.ID)
		v.want(a.N > last && a.N <= v.run.Progress.Created, at+".n", "is %d, want one of %d to %d", a.N, last+1, v.run.Progress.Created)
		seen[a.ID], last = true, a.N
		a.check(v.checker, at)
		if a.Exec != nil {
			v.checkUnderWay(a.Exec, at+".exec")
		}
		if q := a.asks(); q != nil {
			v.want(q.Number <= v.run.Progress.Questions && !asked[q.Number], at+".waits.question.number", "is %d, again or of %d", q.Number, v.run.Progress.Questions)
			asked[q.Number] = true
		}
	}
}

// checkUnderWay checks that a state execution and its invocation have numbers that were given.
func (v validation) checkUnderWay(e *Exec, at string) {
	p := &v.run.Progress
	v.want(e.Iteration <= p.Iterations, at+".iteration", "is %d, but %d state executions were begun", e.Iteration, p.Iterations)
	if r := e.Running; r != nil {
		v.want(r.N <= p.Launches, at+".running.n", "is %d, but %d invocations were begun", r.N, p.Launches)
	}
}

// checkFamily checks that whoever has forked an agent is older than it, as far as both are
// known. So nobody is an ancestor of itself.
func (v validation) checkFamily() {
	ages := make(map[string]int, len(v.run.Agents)+len(v.run.Ended))
	for _, e := range v.run.Ended {
		ages[e.Agent] = e.N
	}
	for _, a := range v.run.Agents {
		ages[a.ID] = a.N
	}
	check := func(at, parent string, n int) {
		age, known := ages[parent]
		v.want(!known || age < n, at+".parent", "%q is younger", parent)
	}
	for i, e := range v.run.Ended {
		if e.Parent != "" {
			check(fmt.Sprintf("ended[%d]", i), e.Parent, e.N)
		}
	}
	for i, a := range v.run.Agents {
		check(fmt.Sprintf("agents[%d]", i), a.Parent, a.N)
	}
}

func (v validation) checkHead() {
	v.want(v.run.Schema == Schema, "schema", "is %d, want %d", v.run.Schema, Schema)
	v.want(ValidID(v.run.WorkflowID), "workflow_id", "%q is not a workflow id", v.run.WorkflowID)
	v.want(!v.run.Created.IsZero(), "created", "is missing")
	v.want(len(v.run.Mark) >= 16 && !strings.ContainsAny(v.run.Mark, ".\x00"), "mark", "%q is not the mark of a run", v.run.Mark)
	v.want(filepath.IsAbs(v.run.Scope), "scope", "%q is not an absolute path", v.run.Scope)
	v.want(filepath.IsAbs(v.run.Dir), "dir", "%q is not an absolute path", v.run.Dir)
	v.want(fileName(v.run.Entry), "entry", "%q is not a file name", v.run.Entry)
	v.want(v.run.Files[v.run.Entry] != "", "files", "lacks the entry %q", v.run.Entry)
	for name, sum := range v.run.Files {
		v.want(fileName(name), "files", "%q is not a file name", name)
		v.want(isSHA256(sum), "files."+name, "is not a SHA-256 in hex")
	}
	for i, name := range v.run.Used {
		// A used file need not be among the files: a run may continue without it.
		v.want(fileName(name), fmt.Sprintf("used[%d]", i), "%q is not a file name", name)
	}
}

func (o *Options) check(c *checker) {
	for name, n := range map[string]int{"max_parallel": o.MaxParallel, "max_agents": o.MaxAgents, "max_depth": o.MaxDepth} {
		c.want(n >= 1, "options."+name, "is %d, want at least 1", n)
	}
	c.want(o.Backend == "" || protocol.IsBackend(o.Backend), "options.agent", "%q is not an agent", o.Backend)
	checkCaps(c, "options.caps", o.Caps)
}

func (v validation) checkProgress() {
	p := &v.run.Progress
	v.want(p.Status.IsKnown(), "progress.status", "%q is unknown", p.Status)
	there := len(v.run.Agents) + len(v.run.Ended) + v.run.Forgotten()
	v.want(p.Created == there, "progress.created", "is %d, but %d agents are there", p.Created, there)
	v.want((p.Status == Completed) == (len(v.run.Agents) == 0), "progress.status",
		"is %q with %d agents left", p.Status, len(v.run.Agents))
}

func (v validation) checkLedger() {
	sum := v.run.Past.check(v.checker, "past")
	for i, e := range v.run.Ledger {
		at := fmt.Sprintf("ledger[%d]", i)
		v.want(e.Kind == Exact || e.Kind == Estimated || e.Kind == Unknown, at+".kind", "%q is unknown", e.Kind)
		v.want(e.Unpriced >= 0, at+".unpriced", "is %d, want at least 0", e.Unpriced)
		v.want(e.N >= 1 && e.N <= v.run.Progress.Launches, at+".n", "%d is not an invocation of the run", e.N)
		sum = sum.Plus(e.CostUSD)
	}
	v.want(sum == v.run.Progress.TotalUSD, "progress.total_usd", "is %s, but the ledger adds up to %s", v.run.Progress.TotalUSD, sum)
}

func (a *Agent) check(c *checker, at string) {
	c.want(agentID().MatchString(a.ID), at+".id", "%q is not the name of an agent", a.ID)
	c.want(fileName(a.State), at+".state", "%q is not a file name", a.State)
	kind, _, _ := strings.Cut(a.By, " ")
	c.want(slices.Contains([]string{"agent", "script", "person", "start"}, kind) && fileName(a.By), at+".by", "%q is nobody", a.By)
	for name, n := range a.Visits {
		c.want(fileName(name) && n >= 1 && n <= mostCount, at+".visits."+name, "is %d", n)
	}
	c.want(a.Visits[a.State] >= 1, at+".visits", "lack %q", a.State)
	c.want(slices.Contains([]AgentStatus{Ready, Busy, Stuck, Waiting}, a.Status), at+".status", "%q is unknown", a.Status)
	c.want((a.Status == Stuck) == (a.Failure != nil), at+".fault", "does not fit the status %q", a.Status)
	c.want((a.Status == Waiting) == (a.Waits != nil), at+".waits", "does not fit the status %q", a.Status)
	a.Waits.check(c, at+".waits")
	c.want(a.Dir == "" || filepath.IsAbs(a.Dir), at+".dir", "%q is not an absolute path", a.Dir)
	c.want(!a.Branch || a.Session != nil, at+".branch", "is set without a session")
	c.want(a.Status != Busy || a.Exec != nil, at+".exec", "is missing for status %q", a.Status)
	c.want(a.Outage == nil || a.Outage.N >= 1 || a.Outage.Suspended >= 1, at+".outage.n", "is less than 1")
	a.Session.check(c, at+".session")
	c.wantCLI(at, a.Backend, "")
	for i, f := range a.Stack {
		here := fmt.Sprintf("%s.stack[%d]", at, i)
		c.want(fileName(f.State), here+".state", "%q is not a file name", f.State)
		c.want(f.Dir == "" || filepath.IsAbs(f.Dir), here+".dir", "%q is not an absolute path", f.Dir)
		c.want(!f.Branch || f.Session != nil, here+".branch", "is set without a session")
		f.Session.check(c, here+".session")
	}
	if a.Exec != nil {
		a.Exec.check(c, at+".exec")
		c.want(a.Status == Busy || a.Exec.Running == nil, at+".exec.running", "does not fit the status %q", a.Status)
	}
}

func (s *Session) check(c *checker, at string) {
	if s != nil {
		c.want(ValidSession(s.ID), at+".id", "%q is not a session id", s.ID)
		c.wantCLI(at, s.Backend, s.CLIID)
	}
}

func (e *Exec) check(c *checker, at string) {
	c.want(e.Iteration >= 1, at+".iteration", "is %d, want at least 1", e.Iteration)
	c.want(e.Attempt >= 1, at+".attempt", "is %d, want at least 1", e.Attempt)
	c.want(e.Phase == PhaseAgent || e.Phase == PhaseVerify, at+".phase", "%q is unknown", e.Phase)
	c.want(!e.Started.IsZero(), at+".started", "is missing")
	c.want(e.Session != nil || !e.Continue && (e.Reminder == "" || e.Passed != nil), at+".session", "is missing")
	e.Session.check(c, at+".session")
	if r := e.Running; r != nil {
		c.want(r.N >= 1, at+".running.n", "is %d, want at least 1", r.N)
		modes := []SessionMode{"", Fresh, Resume, Branch}
		c.want(slices.Contains(modes, r.Mode), at+".running.mode", "%q is unknown", r.Mode)
		c.want(r.Mode == "" || ValidSession(r.SessionID), at+".running.session_id", "%q is not a session id", r.SessionID)
		c.want(r.Mode != Branch || ValidSession(r.From), at+".running.from", "%q is not a session id", r.From)
		c.wantCLI(at+".running", r.Backend, r.CLIID)
		c.want(r.FromCLIID == "" || ValidSession(r.FromCLIID), at+".running.from_cli_id", "%q is not a session id", r.FromCLIID)
	}
}

// fileName reports whether s may name a state file.
func fileName(s string) bool {
	bad := func(r rune) bool { return r < ' ' || r == '/' || r == '\\' }
	return s != "" && s != "." && s != ".." && strings.IndexFunc(s, bad) < 0
}
