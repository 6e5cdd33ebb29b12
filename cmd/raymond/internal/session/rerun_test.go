//go:build linux

package session_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// digests returns a digest of each file below some folders.
func digests(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			all[path] = fmt.Sprintf("%x", sha256.Sum256(data))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// wantUntouched checks that each file is what it was.
func wantUntouched(t *testing.T, was map[string]string, dirs ...string) {
	t.Helper()
	now := digests(t, dirs...)
	maps.DeleteFunc(now, func(path, _ string) bool { return was[path] == "" })
	if diff := cmp.Diff(was, now); diff != "" {
		t.Errorf("files of the run that was run again (-before +after):\n%s", diff)
	}
}

// projects returns the folder in which the agent CLI keeps its conversations.
func (s *site) projects() string {
	for _, kv := range s.Env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			return filepath.Join(v, ".claude", "projects")
		}
	}
	return ""
}

// git runs git in the folder of the site.
func (s *site) git(args ...string) {
	s.T.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir, cmd.Env = s.Work, s.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		s.T.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// TestContractRerun: from whichever state a run is run again, the model sees in all states that
// follow what it saw the first time, and nothing of the first run is changed.
func TestContractRerun(t *testing.T) {
	t.Parallel()
	api := conversationAPI(t)
	s := newRealSite(t, conversations, api)
	s.Run(0)
	states := []string{"Prompt one", "Prompt two", "Prompt aside", "Prompt back", "Prompt pure", "Prompt again", "Prompt fresh"}
	first := map[string]string{}
	for _, prompt := range states {
		first[prompt] = sitetest.Seen(t, api, prompt)
	}
	own := filepath.Join(s.StateDir(), sitetest.RunID)
	kept := []string{s.projects(), own}
	was := digests(t, kept...)
	for n := len(states); n > 0; n -= sitetest.Dose(3, 1) {
		before := len(api.Requests())
		id := fmt.Sprintf("again-%d", n)
		o := s.Raymond(0, "rerun", sitetest.RunID, "--from", fmt.Sprint(n), "--workflow-id", id)
		if o.Stdout != "all said\n" {
			t.Errorf("rerun from %d: got %v, want the result of the first run", n, o)
		}
		for _, prompt := range states[n-1:] {
			if got := sitetest.Seen(t, api, prompt); got != first[prompt] {
				t.Errorf("rerun from %d: %s: the model saw\n%swant\n%s", n, prompt, got, first[prompt])
			}
		}
		if got, want := len(api.Requests())-before, len(states)-n+2; got != want { // and a reminder
			t.Errorf("rerun from %d: got %d requests, want %d", n, got, want)
		}
		run, err := state.Read(s.StateDir(), id)
		if err != nil || run.RerunOf.WorkflowID != sitetest.RunID || run.RerunOf.Exec != n || (run.InheritedUSD == 0) != (n == 1) {
			t.Errorf("rerun from %d: got %+v with inherited %v (%v)", n, run.RerunOf, run.InheritedUSD, err)
		}
		wantUntouched(t, was, kept...)
	}
	// A rerun is run again like any other run.
	s.Raymond(0, "rerun", "again-4", "--from", "AGAIN", "--workflow-id", "third")
	if got := sitetest.Seen(t, api, "Prompt again"); got != first["Prompt again"] {
		t.Errorf("rerun of a rerun: the model saw\n%swant\n%s", got, first["Prompt again"])
	}
	// Another agent begins a conversation of its own.
	before := len(api.Requests())
	o := s.Raymond(0, "rerun", sitetest.RunID, "--from", "TWO", "--agent-command", "echo '<result>mine</result>'")
	if o.Stdout != "mine\n" || !strings.Contains(o.Stderr, "belongs to the agent claude") || len(api.Requests()) != before {
		t.Errorf("rerun with another agent: got %v, want its result, and no request to the model", o)
	}
	wantUntouched(t, was, kept...)
}

// TestRerunOfARunUnderWay: the run that is run again may be driven meanwhile, and be run again
// twice at once. Nobody gets in another one's way.
func TestRerunOfARunUnderWay(t *testing.T) {
	t.Parallel()
	s := newSite(t, held)
	running := s.Start(s.RunArgs("--max-iterations", "3")...)
	running.Until("the second state runs", func() bool { return len(s.Lines("effects")) == 1 })
	var again []*sitetest.Command
	for i := range 2 {
		again = append(again, s.Start("rerun", sitetest.RunID, "--from", "2", "--max-iterations", "1", "--workflow-id", fmt.Sprint("again-", i)))
	}
	same := s.Start("rerun", sitetest.RunID, "--from", "HOLD", "--max-iterations", "1")
	running.Until("all of them run", func() bool { return len(s.Lines("effects")) == 4 })
	if o := s.Raymond(4, "rerun", sitetest.RunID, "--from", "1", "--workflow-id", "again-1"); !strings.Contains(o.Stderr, "raymond: conflict: ") {
		t.Errorf("rerun with an id that is in use: got %v, want a conflict", o)
	}
	s.Write(s.File("go"), "")
	for _, c := range append(again, same, running) {
		if o := c.Wait(); o.Code != 3 {
			t.Errorf("got %v, want exit code 3", o)
		}
	}
	if n := len(s.Lines("effects")); n != 5 {
		t.Errorf("got %d effects, want one of each rerun and two of the run", n)
	}
	runs, err := state.List(s.StateDir())
	if err != nil || len(runs) != 4 {
		t.Errorf("got the runs %q (%v), want four", runs, err)
	}
}

// TestRerunWithFiles: the files are put into a new worktree as they were then, whatever has
// become of them since, and a rerun of the rerun has one of its own.
func TestRerunWithFiles(t *testing.T) {
	t.Parallel()
	write := func(text string) claudetest.Reply {
		return claudetest.Do(claudetest.ToolUse("Write", map[string]any{"file_path": "notes.txt", "content": text}))
	}
	api := claudetest.NewServer(t,
		claudetest.On("Prompt one", write("one\n"), claudetest.Say("<goto>TWO.md</goto>")),
		claudetest.On("Prompt two", claudetest.Do(claudetest.ToolUse("Read", map[string]any{"file_path": "notes.txt"})), write("two\n"), claudetest.Say("<goto>END.sh</goto>")),
	)
	s := newRealSite(t, `
-- 1_START.md --
Prompt one.
-- TWO.md --
Prompt two.
-- END.sh --
read -r word <notes.txt
echo "<result>$word in ${PWD##*/}</result>"
`, api)
	s.git("init", "-q")
	s.git("commit", "-q", "--allow-empty", "-m", "first")
	if o := s.Run(0, "--workspace", "git"); o.Stdout != "two in work\n" {
		t.Fatalf("got %v, want the second text", o)
	}
	s.Write(s.File("notes.txt"), "mine\n")
	kept := []string{s.projects(), filepath.Join(s.StateDir(), sitetest.RunID), s.File("notes.txt")}
	was := digests(t, kept...)
	o := s.Raymond(0, "rerun", sitetest.RunID, "--from", "TWO", "--workflow-id", "second")
	if o.Stdout != "two in work-second\n" || !strings.Contains(o.Stderr, s.Work+"-second\n") {
		t.Errorf("rerun: got %v, want a new worktree that is named", o)
	}
	if seen := api.Last(t).Conversation(); !regexp.MustCompile(`1[→\t]one`).MatchString(seen) {
		t.Errorf("rerun: the agent read the file, and saw\n%s\nwant the text of then", seen)
	}
	if o := s.Raymond(0, "rerun", "second", "--from", "3", "--workflow-id", "third"); o.Stdout != "two in work-third\n" {
		t.Errorf("rerun of the rerun: got %v, want its files in a worktree of its own", o)
	}
	if o := s.Raymond(0, "rerun", sitetest.RunID, "--from", "END", "--workspace", "none"); o.Stdout != "mine in work\n" {
		t.Errorf("rerun without files: got %v, want them as they are", o)
	}
	// The folder of a worktree is never one that is in use.
	s.Write(filepath.Join(s.Work+"-fourth", "mine"), "")
	if o := s.Raymond(9, "rerun", sitetest.RunID, "--from", "2", "--workflow-id", "fourth"); !strings.Contains(o.Stderr, s.Work+"-fourth") {
		t.Errorf("rerun beside a folder of that name: got %v, want it named", o)
	}
	if _, err := state.Read(s.StateDir(), "fourth"); err == nil {
		t.Error("there is a run without its files")
	}
	wantUntouched(t, was, kept...)
}
