package runs

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/align"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// PrintDiff prints two runs side by side: how they ended, what they cost, the path of each
// agent, and the files that they changed.
func (f Folder) PrintDiff(out io.Writer, left, right string) error {
	a, err := f.side(left)
	if err != nil {
		return err
	}
	b, err := f.side(right)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	t := table{w}
	t.row("", left, "", right)
	t.pair("status", string(a.status), string(b.status))
	t.pair("result", a.result(), b.result())
	t.pair("cost", a.run.Spent().String(), b.run.Spent().String())
	t.pair("inherited", a.inherited(), b.inherited())
	for _, agent := range agentsOf(a, b) {
		t.path(agent, a.byAgent[agent], b.byAgent[agent])
		if agent != "main" {
			t.pair("", a.ended[agent], b.ended[agent])
		}
	}
	before, now := a.files(), b.files()
	for _, name := range slices.Sorted(maps.Keys(merged(before, now))) {
		t.pair(name, before[name], now[name])
	}
	return w.Flush()
}

// side is one of two runs that are compared.
type side struct {
	run     *state.Run
	status  state.Status
	list    []Execution
	byAgent map[string][]Execution
	ended   map[string]string // by agent, what has become of those that ended
}

func (f Folder) side(id string) (side, error) {
	l, err := Inspect(f.Dir, id)
	if err != nil {
		return side{}, err
	}
	s := side{status: l.Status, byAgent: map[string][]Execution{}, ended: map[string]string{}}
	if s.run, s.list, err = f.read(id); err != nil {
		return side{}, err
	}
	s.list = slices.Concat(f.inherited(s.run, s.list), s.list)
	for _, e := range s.list {
		s.byAgent[e.Agent] = append(s.byAgent[e.Agent], e)
	}
	for _, e := range s.run.Ended {
		s.ended[e.Agent] = "result: " + problem.Shorten(string(e.Result))
		if e.Error != "" {
			s.ended[e.Agent] = "failed: " + problem.Shorten(e.Error)
		}
	}
	return s, nil
}

// inherited returns the executions of the runs that a run is a rerun of, as far as they are in
// the state folder: those before the ones of its own.
func (f Folder) inherited(run *state.Run, own []Execution) []Execution {
	if run.RerunOf == nil {
		return nil
	}
	before, list, err := f.read(run.RerunOf.WorkflowID)
	if err != nil || !before.Created.Before(run.Created) { // it is gone, or another run has its id
		return nil
	}
	repeated := map[int]bool{}
	for _, e := range own {
		repeated[e.Exec] = true
	}
	list = slices.DeleteFunc(list, func(e Execution) bool { return e.Exec >= run.RerunOf.Exec || repeated[e.Exec] })
	return slices.Concat(f.inherited(before, list), list)
}

// inherited is what the runs before have cost, "" for nothing.
func (s side) inherited() string {
	if s.run.InheritedUSD == 0 {
		return ""
	}
	return s.run.InheritedUSD.Dollars()
}

// result is that of the run, "" while it has none.
func (s side) result() string {
	text, _ := s.run.Result()
	return problem.Shorten(string(text))
}

// files says of each file which executions have changed it.
func (s side) files() map[string]string {
	by := map[string][]string{}
	for _, e := range s.list {
		for _, name := range e.Files {
			by[name] = append(by[name], fmt.Sprint(e.Exec))
		}
	}
	out := map[string]string{}
	for name, numbers := range by {
		out[name] = "changed by " + strings.Join(numbers, ", ")
	}
	return out
}

// agentsOf names the agents of two runs, in the order in which they began.
func agentsOf(sides ...side) []string {
	var names []string
	seen := map[string]bool{}
	for _, s := range sides {
		for _, e := range s.list {
			if !seen[e.Agent] {
				names, seen[e.Agent] = append(names, e.Agent), true
			}
		}
	}
	return names
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// table has a name, two columns, and between them a mark where they differ, as in sdiff.
type table struct{ out io.Writer }

func (t table) row(name, left, mark, right string) {
	fmt.Fprintf(t.out, "%s\t%s\t%s\t%s\n", text.Escaped(name), text.Escaped(left), mark, text.Escaped(right))
}

// pair prints one value of both runs.
func (t table) pair(name, left, right string) {
	mark := ""
	switch {
	case left == right && left == "":
		return
	case right == "":
		mark = "<"
	case left == "":
		mark = ">"
	case left != right:
		mark = "|"
	}
	t.row(name, left, mark, right)
}

// path prints the states of an agent, the same ones beside each other.
func (t table) path(agent string, left, right []Execution) {
	for _, r := range align.Rows(states(left), states(right)) {
		var a, b string
		if r[0] != align.None {
			a = left[r[0]].short()
		}
		if r[1] != align.None {
			b = right[r[1]].short()
		}
		switch {
		case a == "" || b == "":
			t.pair(agent, a, b)
		case left[r[0]].went() != right[r[1]].went():
			t.row(agent, a, "|", b)
		default:
			t.row(agent, a, "", b)
		}
		agent = ""
	}
}

func states(list []Execution) []string {
	var names []string
	for _, e := range list {
		names = append(names, e.State)
	}
	return names
}

// went is what must be the same for two executions of a state to be called so.
func (e *Execution) went() string { return e.Status + " " + arrow(e.Transition) }

// short is an execution in a column.
func (e *Execution) short() string {
	words := fmt.Sprintf("%d %s", e.Exec, e.State)
	if e.Status != execCompleted {
		words += " " + e.Status
	}
	return words + "  " + e.spent.String()
}
