package protocol

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/internal/goldentest"
)

// FuzzDecide tries messages against states with every kind of policy.
func FuzzDecide(f *testing.F) {
	paths, _ := filepath.Glob("testdata/decide/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if part.Name == "message" {
				f.Add(goldentest.Bytes(string(part.Data)))
			}
		}
	}
	policies := []string{
		"",
		"---\nallowed_transitions:\n  - {tag: goto, target: B}\n---\n",
		"---\nallowed_transitions:\n  - {tag: fork, target: B, many: true}\n  - {tag: result, payload: x}\n---\n",
		"---\nallowed_tags: [goto, call, fork]\nallowed_targets: [B, C]\n---\n",
		"---\nallowed_transitions:\n  - {return: C}\n  - {next: C}\n---\n",
		"---\nallowed_transitions:\n  - {tag: ask, where: 12}\n  - {tag: join, target: B}\n  - {tag: goto, after: 10m}\n---\n",
		"---\nallowed_tags: [ask, join]\nallowed_targets: [B, C]\n---\n",
	}
	var flows []*Workflow
	for _, p := range policies {
		w, problems := Load(mapFS(map[string]string{"START.md": p + "x", "B.md": "x", "C.md": "x", "D.sh": "", "BAD.md": "<FF>"}), LoadOptions{Platform: Unix})
		if problems != nil {
			f.Fatal(problems)
		}
		flows = append(flows, w)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, w := range flows {
			d, problems := w.Decide("START.md", string(data), "", nil)
			if (len(problems) > 0) == (d.Then.Verb != "") {
				t.Fatalf("message %q\ngot  %+v and %v\nwant a decision or problems", data, d, problems)
			}
			if len(problems) > 0 {
				checkRefusal(t, w, d, problems)
				continue
			}
			checkDecision(t, w, d)
		}
	})
}

func checkRefusal(t *testing.T, w *Workflow, d Decision, problems []Problem) {
	if !reflect.DeepEqual(d, Decision{}) {
		t.Errorf("problems %v\ngot  %+v\nwant the zero decision", problems, d)
	}
	if r := w.Reminder("START.md", problems); len(r) > 20_000 || !strings.Contains(r, problems[0].Message) {
		t.Errorf("problems %v\ngot  a reminder of %d bytes: %.500q\nwant a short one that names them", problems, len(r), r)
	}
}

// checkDecision says when a decision can't be carried out.
func checkDecision(t *testing.T, w *Workflow, d Decision) {
	var names []string
	for _, s := range d.Spawns {
		names = append(names, s.State, s.Next)
	}
	if d.Then.Verb != Result {
		names = append(names, d.Then.To)
	}
	if d.Then.Verb == Call || d.Then.Verb == Function {
		names = append(names, d.Then.Return)
	}
	if q := d.Then.Question; q != nil && q.TimeoutNext != "" {
		names = append(names, q.TimeoutNext)
	}
	if (d.Then.Question != nil) != (d.Then.Verb == Ask) || d.Then.After < 0 || d.Then.After > maxAfter {
		t.Errorf("decision %+v\nwant a question with an ask alone, and a wait of at most 35 days", d)
	}
	for _, n := range names {
		if s, ok := w.State(n); !ok || len(s.Problems) > 0 {
			t.Errorf("decision %+v\ngot  state %q\nwant one that can be run", d, n)
		}
	}
	if d.Then.Verb == Fork || len(d.Spawns) > 0 && (d.Then.Verb != Goto || d.Then.To != d.Spawns[0].Next) {
		t.Errorf("decision %+v\nwant a goto to the next of its forks", d)
	}
}
