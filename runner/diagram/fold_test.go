package diagram_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/runner/diagram/mermaidtest"
	"github.com/raymond-action/raymond-action/state"
)

// walk is a run told state by state.
type walk struct {
	files map[string]string
	path  diagram.Path
	runs  int
}

func (w *walk) tell(agent, name string, b state.Body) {
	w.path.Add(state.Event{Agent: agent, State: name, Body: b})
}

// step runs a state of an agent, which then goes on to another one; "" ends it.
func (w *walk) step(agent, from, to string) {
	w.runs++
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

// loop is 200 executions of five states.
func loop() *walk {
	w := newWalk()
	w.files["START.md"] = "<goto>TEST.sh</goto>"
	w.files["TEST.sh"] = "echo '<goto>FIX.md</goto>' || echo '<goto>REVIEW.md</goto>'"
	w.files["FIX.md"] = "<goto>TEST.sh</goto>"
	w.files["REVIEW.md"] = "<goto>FIX.md</goto> or <goto>PUSH.sh</goto>"
	w.files["PUSH.sh"] = "echo '<result>done</result>'"
	w.step("main", "START.md", "TEST.sh")
	for i := range 66 {
		w.step("main", "TEST.sh", []string{"FIX.md", "FIX.md", "REVIEW.md"}[i%3])
		if i%3 == 2 {
			w.step("main", "REVIEW.md", "FIX.md")
		}
		w.step("main", "FIX.md", "TEST.sh")
	}
	for w.runs < 198 {
		w.step("main", "TEST.sh", "FIX.md")
		w.step("main", "FIX.md", "TEST.sh")
	}
	w.step("main", "TEST.sh", "REVIEW.md")
	w.step("main", "REVIEW.md", "PUSH.sh")
	w.step("main", "PUSH.sh", "")
	return w
}

// row is 200 states after each other, of which the 150th failed.
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

var largePaths = map[string]func() *walk{"large_loop": loop, "large_row": row, "large_fan": fan}

// TestLargePathsAreReadable holds that of a run of hundreds of state executions a
// drawing has as many nodes as a person takes in, with every execution counted
// and the place of a failure by itself.
func TestLargePathsAreReadable(t *testing.T) {
	counted := regexp.MustCompile(`(?m)^ +s\d+[\[(].*?  (\d+)×`)
	for name, run := range largePaths {
		w := run()
		got := diagram.Draw(load(w.files), &w.path)
		sum := 0
		for _, m := range counted.FindAllStringSubmatch(got, -1) {
			n := 0
			if _, err := fmt.Sscan(m[1], &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		want := w.runs
		if name == "large_row" || name == "large_fan" {
			want++ // the last of row failed, the first of fan forked: neither went through step
		}
		if nodes := len(nodeLine.FindAllString(got, -1)); nodes > 12 || sum != want || strings.Contains(got, "FAILED") != (name == "large_row") {
			t.Errorf("%s\ngot: %d nodes, %d executions\n%s\nwant: at most 12, %d", name, nodes, sum, got, want)
		}
		golden := filepath.Join("testdata", name+".mmd")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(golden); err != nil || string(text) != got {
			t.Errorf("%s\ngot:\n%s\nwant (%v):\n%s", name, got, err, text)
		}
	}
}

// TestWhatIsNotFolded holds that scripts and prompts side by side stay apart, and
// a state in a row that is also reached from elsewhere.
func TestWhatIsNotFolded(t *testing.T) {
	w := newWalk()
	for i := range 40 {
		name := fmt.Sprintf("W%02d%s", i, []string{".md", ".sh"}[i%2])
		w.files[name] = "echo '<goto>END.md</goto>'"
		w.step("main", "START.md", name)
		w.step("main", name, "ROW1.md")
		w.step("main", "ROW1.md", "ROW2.md")
		w.step("main", "ROW2.md", "ROW3.md")
		w.step("main", "ROW3.md", "START.md")
	}
	w.step("main", "START.md", "ROW3.md")
	w.step("main", "ROW3.md", "")
	w.files["START.md"] = "Go."
	got := diagram.Draw(load(w.files), &w.path)
	for _, want := range []string{
		`("W00.md<br/>and 19 like it<br/>in all  20×")`, `[["W01.sh<br/>and 19 like it<br/>in all  20×"]]`,
		`["ROW1.md<br/>to ROW2.md<br/>2 states<br/>in all  80×<br/>no longer there"]`, `["ROW3.md  41×<br/>no longer there"]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got:\n%s\nwant: %s in it", got, want)
		}
	}
}

// TestTangledPathsFit holds that a path which can't be folded is cut down, with
// the states at which agents stand in it.
func TestTangledPathsFit(t *testing.T) {
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
	got := diagram.Draw(load(w.files), &w.path)
	c := mermaidtest.Read(t, got)[0]
	if c.Error != "" || len(c.Nodes) > 61 || utf8.RuneCountInString(got) > 50_000 {
		t.Errorf("got: %q, %d nodes, %d characters\nwant: no fault, at most 61, at most 50000", c.Error, len(c.Nodes), len(got))
	}
	for _, want := range []string{"not shown: ", "FAILED", `(["start"])`} {
		if !strings.Contains(got, want) {
			t.Errorf("got:\n%s\nwant: %q in it", got, want)
		}
	}
}
