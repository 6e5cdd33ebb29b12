package state

import (
	"fmt"
	"reflect"
	"strings"
)

// checker keeps the first problem of a run.
type checker struct{ err *FileError }

// want notes a problem of a field unless ok.
func (c *checker) want(ok bool, field, what string, args ...any) {
	if !ok && c.err == nil {
		c.err = &FileError{Field: field, What: fmt.Sprintf(what, args...)}
	}
}

// result is the problem, if there was one.
func (c *checker) result() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// Validate returns nil for a run that this program could have written.
// Its error is a *FileError that names the first field that is wrong.
func (r *Run) Validate() error {
	c := &checker{}
	v := validation{r, c}
	v.checkHead()
	eachField(reflect.ValueOf(r), "", "", c.field)
	v.checkProgress()
	seen := map[string]bool{}
	v.checkEnded(seen)
	v.checkLiving(seen)
	v.checkLedger()
	r.Parts.check(c)
	return c.result()
}

// validation checks that the fields of a run fit together.
type validation struct {
	run *Run
	*checker
}

// checkEnded checks the agents that have ended, and notes their names in seen.
func (v validation) checkEnded(seen map[string]bool) {
	for i, e := range v.run.Ended {
		at := fmt.Sprintf("ended[%d]", i)
		v.want(!seen[e.Agent], at+".agent", "%q ended twice", e.Agent)
		v.want(e.Error == "" || e.Result == "", at+".error", "is there beside a result")
		v.want(isChild(e.Agent, e.Parent), at+".parent", "%q has not forked it", e.Parent)
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
		v.want(isChild(a.ID, a.Parent), at+".parent", "%q has not forked it", a.Parent)
		seen[a.ID], last = true, a.N
		a.check(v.checker, at)
		if q := a.asks(); q != nil {
			v.want(q.Number <= v.run.Progress.Questions && !asked[q.Number], at+".waits.question.number", "is %d, again or of %d", q.Number, v.run.Progress.Questions)
			asked[q.Number] = true
		}
	}
}

// isChild reports whether an agent can have been forked by another one, "" for none. So nobody is an
// ancestor of itself.
func isChild(id, parent string) bool { return parent == "" || strings.HasPrefix(id, parent+"_") }

func (v validation) checkHead() {
	v.want(v.run.Schema == Schema, "schema", "is %d, want %d", v.run.Schema, Schema)
	v.want(v.run.Files[v.run.Entry] != "" || !fileName(v.run.Entry), "files", "lacks the entry %q", v.run.Entry)
	for name := range v.run.Files {
		v.want(fileName(name), "files", "%q is not a file name", name)
	}
}

func (v validation) checkProgress() {
	p := &v.run.Progress
	there := len(v.run.Agents) + len(v.run.Ended) + v.run.Forgotten
	v.want(p.Created == there, "progress.created", "is %d, but %d agents are there", p.Created, there)
	v.want((p.Status == Completed) == (len(v.run.Agents) == 0), "progress.status",
		"is %q with %d agents left", p.Status, len(v.run.Agents))
}

func (v validation) checkLedger() {
	sum := USD(0)
	for _, e := range v.run.Ledger {
		sum = sum.Plus(e.CostUSD)
	}
	v.want(sum == v.run.Progress.TotalUSD, "progress.total_usd", "is %s, but the ledger adds up to %s", v.run.Progress.TotalUSD, sum)
}

// check checks that the fields of an agent fit together.
func (a *Agent) check(c *checker, at string) {
	for name, n := range a.Visits {
		c.want(fileName(name), at+".visits."+name, "is %d", n)
	}
	c.want(a.Visits[a.State] >= 1, at+".visits", "lack %q", a.State)
	c.want((a.Status == Stuck) == (a.Failure != nil), at+".failure", "does not fit the status %q", a.Status)
	c.want((a.Status == Waiting) == (a.Waits != nil), at+".waits", "does not fit the status %q", a.Status)
	a.Waits.check(c, at+".waits")
	c.want(!a.Branch || a.Session != nil, at+".branch", "is set without a session")
	c.want(a.Status != Busy || a.Exec != nil, at+".exec", "is missing for status %q", a.Status)
	for i, f := range a.Stack {
		c.want(!f.Branch || f.Session != nil, fmt.Sprintf("%s.stack[%d].branch", at, i), "is set without a session")
	}
	if a.Exec != nil {
		a.Exec.check(c, at+".exec")
		c.want(a.Status == Busy || a.Exec.Running == nil, at+".exec.running", "does not fit the status %q", a.Status)
	}
}

func (e *Exec) check(c *checker, at string) {
	c.want(e.Session != nil || !e.Continue && (e.Reminder == "" || e.Passed != nil), at+".session", "is missing")
	if r := e.Running; r != nil {
		c.want(r.Mode == "" || ValidSession(r.SessionID), at+".running.session_id", "%q is not a session id", r.SessionID)
		c.want(r.Mode != Branch || ValidSession(r.From), at+".running.from", "%q is not a session id", r.From)
	}
}
