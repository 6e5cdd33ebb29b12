package state

import (
	"fmt"
	"reflect"
	"strings"
)

// checker records the first problem that is found in a run.
type checker struct{ err *FileError }

// want records a problem in a field if ok is false and no other problem has been recorded.
func (c *checker) want(ok bool, field, what string, args ...any) {
	if !ok && c.err == nil {
		c.err = &FileError{Field: field, What: fmt.Sprintf(what, args...)}
	}
}

// result returns the recorded problem as an error, or nil.
func (c *checker) result() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// Validate returns an error if this program could not have written the run. The error is a *FileError
// that names the first field with a problem.
func (r *Run) Validate() error {
	c := &checker{}
	c.want(r.Schema == Schema, "schema", "is %d, want %d", r.Schema, Schema)
	c.want(r.Files[r.Entry] != "" || !fileName(r.Entry), "files", "lacks the entry %q", r.Entry)
	for name := range r.Files {
		c.want(fileName(name), "files", "%q is not a file name", name)
	}
	eachField(reflect.ValueOf(r), "", "", c.field)
	p, there, sum := &r.Progress, len(r.Agents)+len(r.Ended)+r.Forgotten, USD(0)
	c.want(p.Created == there, "progress.created", "is %d, but there are %d agents", p.Created, there)
	c.want((p.Status == Completed) == (len(r.Agents) == 0), "progress.status", "is %q with %d agents left", p.Status, len(r.Agents))
	seen, asked, last := map[string]bool{}, map[int]bool{}, 0
	// An agent's name begins with the name of its parent. Therefore no agent is its own ancestor.
	fitsParent := func(id, parent string) bool { return parent == "" || strings.HasPrefix(id, parent+"_") }
	for i, e := range r.Ended {
		at := fmt.Sprintf("ended[%d]", i)
		c.want(!seen[e.Agent], at+".agent", "%q ended twice", e.Agent)
		c.want(e.Error == "" || e.Result == "", at+".error", "is set although there is a result")
		c.want(fitsParent(e.Agent, e.Parent), at+".parent", "%q can't have forked it", e.Parent)
		seen[e.Agent] = true
	}
	for i, a := range r.Agents {
		at := fmt.Sprintf("agents[%d]", i)
		c.want(a != nil, at, "is missing")
		if c.err != nil {
			return c.err
		}
		c.want(!seen[a.ID], at+".id", "%q appears twice", a.ID)
		c.want(a.N > last && a.N <= p.Created, at+".n", "is %d, want one of %d to %d", a.N, last+1, p.Created)
		c.want(fitsParent(a.ID, a.Parent), at+".parent", "%q can't have forked it", a.Parent)
		seen[a.ID], last = true, a.N
		a.check(c, at)
		if q := a.openQuestion(); q != nil {
			c.want(q.Number <= p.Questions && !asked[q.Number], at+".waits.question.number", "is %d, want an unused number from 1 to %d", q.Number, p.Questions)
			asked[q.Number] = true
		}
	}
	for _, e := range r.Ledger {
		sum = sum.Plus(e.CostUSD)
	}
	c.want(sum == p.TotalUSD, "progress.total_usd", "is %s, but the ledger adds up to %s", p.TotalUSD, sum)
	c.want(len(r.Parts) <= MaxParts+maxEarlier, "parts", "are %d, want %d at most", len(r.Parts), MaxParts+maxEarlier)
	for i, p := range r.Parts {
		p.check(c, fmt.Sprintf("parts[%d]", i))
	}
	return c.result()
}

// check checks that the fields of an agent, its wait and its execution fit each other. at is the path of the agent in the run.
func (a *Agent) check(c *checker, at string) {
	for name, n := range a.Visits {
		c.want(fileName(name), at+".visits."+name, "is %d", n)
	}
	c.want(a.Visits[a.State] >= 1, at+".visits", "lack %q", a.State)
	c.want((a.Status == Stuck) == (a.Failure != nil), at+".failure", "does not fit the status %q", a.Status)
	c.want((a.Status == Waiting) == (a.Waits != nil), at+".waits", "does not fit the status %q", a.Status)
	if w := a.Waits; w != nil {
		c.want(w.For != ForTime || !w.Until.IsZero(), at+".waits.until", "is missing")
		c.want((w.For == ForJob) == (w.Job != ""), at+".waits.job", "does not fit a wait for %q", w.For)
		c.want((w.For == ForAnswer) == (w.Question != nil), at+".waits.question", "does not fit a wait for %q", w.For)
		if q := w.Question; q != nil {
			c.want(w.Until.IsZero() == (q.TimeoutNext == ""), at+".waits.question.timeout_next", "does not fit waits.until")
		}
	}
	c.want(!a.Branch || a.Session != nil, at+".branch", "is set without a session")
	c.want(a.Status != Busy || a.Exec != nil, at+".exec", "is missing for status %q", a.Status)
	for i, f := range a.Stack {
		c.want(!f.Branch || f.Session != nil, fmt.Sprintf("%s.stack[%d].branch", at, i), "is set without a session")
	}
	if e := a.Exec; e != nil {
		c.want(e.Session != nil || !e.Continue && (e.Reminder == "" || e.PassedResults != nil), at+".exec.session", "is missing")
		if r := e.Running; r != nil {
			c.want(r.Mode == "" || ValidSession(r.SessionID), at+".exec.running.session_id", "%q is not a session id", r.SessionID)
			c.want(r.Mode != Branch || ValidSession(r.From), at+".exec.running.from", "%q is not a session id", r.From)
		}
		c.want(a.Status == Busy || e.Running == nil, at+".exec.running", "does not fit the status %q", a.Status)
	}
}
