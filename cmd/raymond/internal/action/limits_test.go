//go:build linux

package action_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// freed is a state file of which an agent has taken every limit away.
func freed(t *testing.T, data []byte) []byte {
	t.Helper()
	var run map[string]any
	if err := json.Unmarshal(data, &run); err != nil {
		t.Fatal(err)
	}
	run["options"] = map[string]any{
		"budget_usd": 0, "max_parallel": 99, "max_agents": 9999, "max_depth": 9999, "max_retries": 99, "max_reminders": 99,
		"permission_mode": "bypassPermissions", "dangerously_skip_permissions": true, "keep_going": true, "model": "planted",
		"allowed_tools": []string{"Bash"}, "claude_args": []string{"--planted"}, "idle_timeout": "99h",
	}
	data, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const scriptThenAgent = `-- wf/START.sh --
echo '<goto>END.md</goto>'
-- wf/END.md --
reply:
<result>all done</result>
end.
`

// TestLimitsOfAResumedRunAreThoseOfTheInputs: agents could have written what a state
// file says of budget, permissions and arguments, here or before it was stored where
// nothing signs it.
func TestLimitsOfAResumedRunAreThoseOfTheInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		inputs []string
		forge  func(*testing.T, *scene, ended)
	}{
		"a checkpoint without a key": {nil, forgeCheckpoint},
		"store: local": {[]string{"store", "local", "state-dir", dir}, func(t *testing.T, _ *scene, e ended) {
			path := filepath.Join(dir, "o", "r", e.outputs["workflow-id"]+".json")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, freed(t, data), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, scriptThenAgent)
			job := func(run int64, most string) *bareJob {
				j := s.job(run, append(tt.inputs, "max-iterations", most)...)
				j.wrapped("")
				return j
			}
			first := job(1, "1").do(problem.ExitCodes[problem.ClassOverLimit])
			tt.forge(t, s, first)
			j := job(2, "9").with("budget", "3.00")
			j.do(0).wantOutputs(t, "status", "completed", "workflow-id", first.outputs["workflow-id"])
			args := strings.Fields(j.read(filepath.Join(j.root, "notes", "args")))
			for _, planted := range []string{"--planted", "planted", "--dangerously-skip-permissions", "bypassPermissions", "--allowedTools", "--allowed-tools"} {
				if slices.Contains(args, planted) {
					t.Errorf("arguments of the agent CLI: got %q, want no %s", args, planted)
				}
			}
			if !slices.Contains(args, "acceptEdits") {
				t.Errorf("arguments of the agent CLI: got %q, want the default permission mode", args)
			}
			got := optionsAtTheEnd(t, s, dir, name == "store: local")
			if got.BudgetUSD != 3*state.Dollar || got.MaxIterations != 9 || got.MaxParallel != 4 || got.MaxAgents != 256 || got.MaxRetries != 3 || got.SkipPermissions {
				t.Errorf("options of the resumed run: got %+v, want those of the inputs and the defaults", got)
			}
		})
	}
}

// optionsAtTheEnd are the options that the one run of a scene has in the end.
func optionsAtTheEnd(t *testing.T, s *scene, dir string, isLocal bool) state.Options {
	t.Helper()
	if !isLocal {
		all := s.forge.Checkpoints(t, nil)
		return all[len(all)-1].Run.Options
	}
	ids, err := state.List(filepath.Join(dir, "o", "r"))
	if err != nil || len(ids) != 1 {
		t.Fatalf("runs in the state folder: got %q, %v, want one", ids, err)
	}
	run, err := state.Read(filepath.Join(dir, "o", "r"), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	return run.Options
}

// forgeCheckpoint replaces the newest checkpoint by one whose state file is freed. It
// is whole: without a key everybody can make one.
func forgeCheckpoint(t *testing.T, s *scene, _ ended) {
	t.Helper()
	all := s.forge.All()
	last := slices.IndexFunc(all, func(a artifactstest.Stored) bool { return sitetest.IsCheckpoint(a) })
	stored := sitetest.ReadStored(t, all[last], nil)
	r, err := zip.NewReader(bytes.NewReader(all[last].Content), int64(len(all[last].Content)))
	if err != nil {
		t.Fatal(err)
	}
	var parts []checkpoint.Part
	for _, f := range r.File {
		path := filepath.Join(stored.Dir, filepath.FromSlash(f.Name))
		data, err := os.ReadFile(path)
		switch {
		case err != nil || f.Name == "manifest.json":
			continue // not one of the parts
		case f.Name == "state.json":
			data = freed(t, data)
		}
		parts = append(parts, checkpoint.Part{Name: f.Name, Data: data})
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "forged.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m := stored.Manifest
	m.Files = nil
	if _, err := checkpoint.Write(out, checkpoint.Writing{Manifest: m, Parts: parts}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	forged := all[last]
	forged.Content, forged.ID = content, 0
	s.forge.Put(forged)
}
