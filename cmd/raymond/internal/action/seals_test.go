//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// waitsInTheMiddle has two steps behind it when it waits to be killed.
const waitsInTheMiddle = `-- wf/START.sh --
echo '<goto>NEXT.sh</goto>'
-- wf/NEXT.sh --
echo '<goto>MIDDLE.sh</goto>'
-- wf/MIDDLE.sh --
echo here >>"$EFFECTS"; until [ -e "$EFFECTS.go" ]; do sleep 0.01; done; echo '<result>done</result>'
`

// killedInTheMiddle is a job whose main part was killed, and the folder that it left.
func killedInTheMiddle(t *testing.T) (s *scene, j *bareJob, id string) {
	t.Helper()
	s = newScene(t, waitsInTheMiddle)
	j = s.job(1)
	c := j.start()
	c.Until("the middle", func() bool { return s.done() != "" })
	j.site.KillAll(c)
	list, err := filepath.Glob(filepath.Join(j.own(), "*.json"))
	if err != nil || len(list) != 1 {
		t.Fatalf("state files: got %q, %v, want one", list, err)
	}
	return s, j, strings.TrimSuffix(filepath.Base(list[0]), ".json")
}

// edited is a file with one text in place of another.
func edited(t *testing.T, path, old, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s: got %s, want %q in it", path, data, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), old, text)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// removed removes a file of a step's folder.
func removed(name string) func(t *testing.T, dir, id string) {
	return func(t *testing.T, dir, _ string) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRunFilesThatWereAlteredAreNotStored: post would sign what an agent wrote, and the
// next run would begin where the agent likes.
func TestRunFilesThatWereAlteredAreNotStored(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		alter func(t *testing.T, dir, id string)
		names string // of the file
	}{
		"state file": {func(t *testing.T, dir, id string) {
			edited(t, filepath.Join(dir, id+".json"), `"START.sh"`, `"MIDDLE.sh"`)
		}, ".json"},
		"state file, one blank more": {func(t *testing.T, dir, id string) {
			edited(t, filepath.Join(dir, id+".json"), `"budget_usd":`, `"budget_usd": `)
		}, ".json"},
		"journal emptied": {func(t *testing.T, dir, id string) {
			if err := os.Truncate(filepath.Join(dir, id+".journal"), 0); err != nil {
				t.Fatal(err)
			}
		}, ".journal"},
		"journal, a line more": {func(t *testing.T, dir, id string) {
			path := filepath.Join(dir, id+".journal")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(data), "\n")
			if err := os.WriteFile(path, []byte(string(data)+lines[len(lines)-2]), 0o600); err != nil {
				t.Fatal(err)
			}
		}, ".journal"},
		"chain": {func(t *testing.T, dir, id string) {
			edited(t, filepath.Join(dir, id, "checkpoint.json"), `"generation":0`, `"generation":9`)
		}, "checkpoint.json"},
		"note": {func(t *testing.T, dir, _ string) {
			edited(t, filepath.Join(dir, "step.note"), `"key":`, `"lost":true,"key":`)
		}, "step.note"},
		"note removed":  {removed("step.note"), "step.note"},
		"seals removed": {removed("seals"), "seals"},
		"a seal of the agent's own": {func(t *testing.T, dir, _ string) {
			edited(t, filepath.Join(dir, "seals"), "replace", "done")
		}, "seals"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, j, id := killedInTheMiddle(t)
			before := len(s.forge.Checkpoints(t, nil))
			tt.alter(t, j.own(), id)
			e := j.end(j.command("action-post"))
			if e.Code != problem.ExitCodes[problem.ClassDenied] {
				t.Fatalf("post part: got %v, want exit code %d", e, problem.ExitCodes[problem.ClassDenied])
			}
			e.wantSays(t, "error", "denied: ", tt.names, "altered since this step wrote it; ")
			if after := len(s.forge.Checkpoints(t, nil)); after != before {
				t.Errorf("checkpoints: got %d, want the %d that the main part stored", after, before)
			}
		})
	}
}

// TestFilesOfAKilledStepAreStored, as they are: that is what the post part is for. A line
// of the journal that was cut off is no forgery.
func TestFilesOfAKilledStepAreStored(t *testing.T) {
	t.Parallel()
	s, j, id := killedInTheMiddle(t)
	f, err := os.OpenFile(filepath.Join(j.own(), id+".journal"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("0000 {torn"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if e := j.end(j.command("action-post")); e.Code != 0 {
		t.Fatalf("post part: got %v, want success", e)
	}
	all := s.forge.Checkpoints(t, nil)
	if len(all) != 1 || all[0].Run.Agents[0].State != "MIDDLE.sh" {
		t.Errorf("checkpoints: got %v, want one that is in the middle", all)
	}
}

// TestAnAgentThatForgesTheStateAndKillsTheStepGetsNothing: the agent itself rewrites the state file and kills the step.
func TestAnAgentThatForgesTheStateAndKillsTheStepGetsNothing(t *testing.T) {
	t.Parallel()
	repo := acttest.Repository(t, `-- wf/START.sh --
f=$(ls "$OWN"/*/*.json); sed -i 's/START.sh/DEPLOY.sh/g' "$f"; kill -9 $PPID
-- wf/DEPLOY.sh --
echo '<result>deployed</result>'
`)
	f := sitetest.NewForge(t)
	j := newJob(t, f, repo, 1)
	j.set("OWN", filepath.Join(j.temp, "raymond")).with("env", "OWN")
	if o := j.start().Wait(); o.Code == 0 {
		t.Fatalf("main part: got %v, want it killed", o)
	}
	e := j.end(j.command("action-post"))
	if e.Code != problem.ExitCodes[problem.ClassDenied] || len(f.Checkpoints(t, nil)) != 0 {
		t.Errorf("post part: got %v and %d checkpoints, want it denied and none", e, len(f.Checkpoints(t, nil)))
	}
}

// TestAKillAtAnyFailpointIsNoForgery: between a seal and what it seals the post part
// finds everything in order, and stores it.
func TestAKillAtAnyFailpointIsNoForgery(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	for n := 1; ; n++ {
		j := s.job(int64(n), "resume", "never").set(sitetest.KillVar, strconv.Itoa(n))
		j.bin = sitetest.Breaking.Path(t)
		o := j.start().Wait()
		if o.Code == 0 {
			if n < 10 {
				t.Errorf("failpoints: got %d, want more", n)
			}
			return
		}
		if e := j.end(j.set(sitetest.KillVar, "").command("action-post")); e.Code != 0 {
			t.Fatalf("post part of a step that was killed at failpoint %d: got %v, want success", n, e)
		}
	}
}
