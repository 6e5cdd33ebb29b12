package protocol

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/goldentest"
)

// FuzzDecide checks that Decide returns either a decision or problems for every message, in states
// with every kind of policy. It also checks that reminders are short, and that decisions can be
// carried out.
func FuzzDecide(f *testing.F) {
	paths, _ := filepath.Glob("testdata/decide/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		assert.NilError(f, err)
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
			assert.Equal(t, len(problems) > 0, reflect.DeepEqual(d, Decision{}), "message %q\ngot  %+v and %v\nwant a decision or problems", data, d, problems)
			if r := w.Reminder("START.md", problems); len(r) > 20_000 || len(problems) > 0 && !strings.Contains(r, problems[0].Message) {
				t.Errorf("problems %v\ngot  a reminder of %d bytes: %.500q\nwant a short one that names them", problems, len(r), r)
			}
			names := []string{d.Then.To, d.Then.Return}
			for _, s := range d.Spawns {
				names = append(names, s.State, s.Next)
			}
			if q := d.Then.Question; q != nil {
				names = append(names, q.TimeoutNext)
			}
			for _, n := range names {
				if s, ok := w.State(n); n != "" && (!ok || len(s.Problems) > 0) {
					t.Errorf("decision %+v\ngot  state %q\nwant one that can be run", d, n)
				}
			}
		}
	})
}
