package diagram_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/runner/diagram/mermaidtest"
	"github.com/raymond-action/raymond-action/state"
)

// walk builds the path of a run state by state.
type walk struct {
	files map[string]string
	path  diagram.Path
}

func (w *walk) tell(agent, name string, b state.Body) {
	w.path.Add(state.Event{Agent: agent, State: name, Body: b})
}

// step runs a state of an agent, which then moves to another one, or ends if to is "".
func (w *walk) step(agent, from, to string) {
	w.tell(agent, from, &state.StateStarted{Kind: "prompt"})
	w.tell(agent, from, &state.StateFinished{OK: true})
	tag := "goto"
	if to == "" {
		tag = "result"
	}
	w.tell(agent, from, &state.Transition{Tag: tag, Target: to, From: from})
	if to == "" {
		w.tell(agent, from, &state.AgentFinished{})
	}
}

func (w *walk) file(name, goTo string) { w.files[name] = "<goto>" + goTo + "</goto>\n" }

func newWalk() *walk {
	w := &walk{files: map[string]string{}}
	w.tell("main", "START.md", &state.AgentStarted{})
	return w
}

// row is 200 states in a row, of which the 150th failed.
func row() *walk {
	w := newWalk()
	name := func(i int) string {
		if i == 0 {
			return "START.md"
		}
		return fmt.Sprintf("STEP%03d.md", i)
	}
	for i := range 200 {
		w.file(name(i), name(i+1))
	}
	w.files[name(200)] = "<result>done</result>"
	for i := range 150 {
		w.step("main", name(i), name(i+1))
	}
	w.tell("main", name(150), &state.StateStarted{Kind: "prompt"})
	w.tell("main", name(150), &state.AgentFinished{Error: "broken"})
	return w
}

// fan is 100 agents, each with two states of its own.
func fan() *walk {
	w := newWalk()
	w.files["WAIT.sh"] = "echo '<goto>WAIT.sh</goto>' || echo '<result>done</result>'"
	w.tell("main", "START.md", &state.StateStarted{Kind: "prompt"})
	w.tell("main", "START.md", &state.StateFinished{OK: true})
	for i := range 100 {
		first, second := fmt.Sprintf("FIX%02d.md", i), fmt.Sprintf("TEST%02d.sh", i)
		w.file(first, second)
		w.files[second] = "echo '<result>done</result>'"
		w.files["START.md"] += fmt.Sprintf("<fork next='WAIT.sh'>%s</fork>\n", first)
		w.tell("main", "START.md", &state.Transition{Tag: "fork", Target: first, From: "START.md", Next: "WAIT.sh"})
		agent := fmt.Sprint("main_", i)
		w.tell(agent, first, &state.AgentStarted{Parent: "main"})
		w.step(agent, first, second)
		w.step(agent, second, "")
	}
	w.step("main", "WAIT.sh", "WAIT.sh")
	w.step("main", "WAIT.sh", "")
	return w
}

// tangle is 300 states that lead to each other in many ways, of which the last
// failed.
func tangle() *walk {
	w := newWalk()
	name := func(i int) string { return fmt.Sprintf("S%d.md", i%300) }
	w.step("main", "START.md", name(0))
	for i := range 300 {
		w.step("main", name(i), name(i*7+1))
		w.step("main", name(i), name(i*i+3))
	}
	w.tell("main_a", name(299), &state.AgentStarted{})
	w.tell("main_a", name(299), &state.AgentFinished{Error: "broken"})
	w.files["START.md"] = "Go."
	return w
}

// TestLongPathsAreCut states that a path through hundreds of states is cut to what a
// reader can take in, that Mermaid accepts it, that the start and the state that failed
// stay, and that states which did not run go first.
func TestLongPathsAreCut(t *testing.T) {
	for name, run := range map[string]func() *walk{"row": row, "fan": fan, "tangle": tangle} {
		w := run()
		got := diagram.Draw(load(w.files), &w.path)
		c := mermaidtest.Read(t, got)[0]
		if c.Error != "" || len(c.Nodes) > 61 || utf8.RuneCountInString(got) > 50_000 {
			t.Errorf("%s: got: %q, %d nodes, %d characters\nwant: no fault, at most 61, at most 50000", name, c.Error, len(c.Nodes), len(got))
		}
		wants := []string{"not shown: ", `(["start"])`, "  1×"}
		if name != "fan" {
			wants = append(wants, "FAILED")
		}
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got:\n%s\nwant: %q in it", name, got, want)
			}
		}
		if strings.Contains(got, "STEP151.md") {
			t.Errorf("%s: got:\n%s\nwant: no state that did not run", name, got)
		}
	}
}
