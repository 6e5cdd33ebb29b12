package job

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// step is a directory that contains a step's command files, as the runner creates them.
type step struct {
	t   *testing.T
	dir string
}

// newStep creates a directory with empty command files.
func newStep(t *testing.T) *step {
	t.Helper()
	s := &step{t, t.TempDir()}
	for _, name := range commandFiles {
		s.write(name, "")
	}
	return s
}

// path returns the path of the command file that a variable names.
func (s *step) path(name string) string { return filepath.Join(s.dir, strings.ToLower(name)) }

func (s *step) getenv(name string) string {
	if slices.Contains(commandFiles, name) {
		return s.path(name)
	}
	return ""
}

// guard calls GuardFiles for the files of the step.
func (s *step) guard() *Files {
	s.t.Helper()
	f, err := GuardFiles(s.getenv)
	assert.NilError(s.t, err)
	return f
}

func (s *step) write(name, content string) {
	s.t.Helper()
	s.must(os.WriteFile(s.path(name), []byte(content), 0o644))
}

func (s *step) remove(name string) { s.t.Helper(); s.must(os.RemoveAll(s.path(name))) }

func (s *step) must(err error) {
	s.t.Helper()
	assert.NilError(s.t, err)
}

// wantContent checks that a command file is a regular file with this content.
func (s *step) wantContent(name, want string) {
	s.t.Helper()
	info, err := os.Lstat(s.path(name))
	s.must(err)
	got, err := os.ReadFile(s.path(name))
	s.must(err)
	if string(got) != want || !info.Mode().IsRegular() {
		s.t.Errorf("%s: got %v, %.200q, want a regular file with %.200q", name, info.Mode(), got, want)
	}
}

// wantChanged calls Verify, and checks which files it reports as changed.
func (s *step) wantChanged(f *Files, want ...string) {
	s.t.Helper()
	got, err := f.Verify()
	assert.Check(s.t, err, "changed files")
	assert.Check(s.t, is.DeepEqual(got, want), "changed files")
}

// wantNothingElse checks that no temporary file is left in the directory.
func (s *step) wantNothingElse() {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	s.must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			s.t.Errorf("got the file %s left behind", e.Name())
		}
	}
}

// tamperings returns functions that change a command file in the ways in which an agent can do that.
// victim is another file, to which some create links. It must not change.
func tamperings(s *step, victim string) map[string]func(path string) {
	return map[string]func(string){
		"appended":  func(path string) { s.must(os.WriteFile(path, []byte("LD_PRELOAD=/x.so\n"), 0o644)) },
		"truncated": func(path string) { s.must(os.Truncate(path, 0)) },
		"removed":   func(path string) { s.must(os.Remove(path)) },
		"replaced by the same content": func(path string) {
			data, err := os.ReadFile(path)
			s.must(err)
			s.must(os.WriteFile(path+"2", data, 0o644))
			s.must(os.Rename(path+"2", path))
		},
		"replaced by a link":      func(path string) { s.must(os.Remove(path)); s.must(os.Symlink(victim, path)) },
		"replaced by a hard link": func(path string) { s.must(os.Remove(path)); s.must(os.Link(victim, path)) },
		"replaced by a dangling link": func(path string) {
			s.must(os.Remove(path))
			s.must(os.Symlink(victim+"-none", path))
		},
		"replaced by a folder": func(path string) { s.must(os.Remove(path)); s.must(os.MkdirAll(path+"/a/b", 0o755)) },
		"too large":            func(path string) { s.must(os.Truncate(path, maxCommandFile+1)) },
	}
}

// TestTamperingIsUndone checks that each change to a command file is reported and undone, and that
// nothing is written to the target of a link. The change is found by Verify or by a write.
func TestTamperingIsUndone(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	all := []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITHUB_ARTIFACTS"}
	assert.Check(t, is.DeepEqual(commandFiles, all), "command files")
	for how := range tamperings(newStep(t), victim) {
		for _, name := range commandFiles {
			s := newStep(t)
			s.must(os.WriteFile(victim, []byte("mine"), 0o644))
			s.write(name, "before\n")
			f := s.guard()
			s.wantChanged(f)
			tamperings(s, victim)[how](s.path(name))
			want := "before\n"
			if name == summaryFile { // this change is found by a write, others by Verify
				s.must(f.WriteSummary("ours"))
				want += "ours"
			}
			s.wantChanged(f, name)
			s.wantContent(name, want)
			s.wantChanged(f)
			if got, err := os.ReadFile(victim); err != nil || string(got) != "mine" {
				t.Errorf("%s %s: got the other file %q, %v, want it untouched", name, how, got, err)
			}
			_, err := os.Lstat(victim + "-none")
			assert.Check(t, err != nil, "%s %s: got a file made through the link", name, how)
			s.wantNothingElse()
		}
	}
}

// TestOwnWritesAreNoChanges checks that Verify doesn't report writes by Files, even if there are several.
func TestOwnWritesAreNoChanges(t *testing.T) {
	s := newStep(t)
	s.write(summaryFile, "earlier text")
	s.must(os.Chmod(s.path(summaryFile), 0o600))
	f := s.guard()
	s.must(f.WriteSummary("one"))
	s.wantContent(summaryFile, "earlier text\none")
	s.wantChanged(f)
	s.must(f.WriteSummary("two é \xff"))
	s.must(f.SetOutput("status", "completed"))
	s.must(f.SetOutput("result", "a\nb"))
	s.wantChanged(f)
	s.wantContent(summaryFile, "earlier text\ntwo é \uFFFD")
	info, err := os.Stat(s.path(summaryFile))
	assert.Check(t, err == nil && info.Mode().Perm() == 0o600, "got the mode %v, %v, want 0600 as before", info.Mode(), err)
	s.wantNothingElse()
}

func TestOutputsAreReadAsGiven(t *testing.T) {
	for _, value := range []string{"", "one", "two\nlines", "\n", "\n\nx\n", "_GitHubActionsFileCommandDelimeter_\nevil=1", "end_\nevil=1\nresult<<end_", "a=b", "a<<b", "nul\x00", "bad \xff", "cr\rx\r"} {
		got, clean := sitetest.ReadOutputs(t, outputEntry("result", value)+outputEntry("status", value)), strings.ReplaceAll(strings.ToValidUTF8(value, "\uFFFD"), "\x00", "")
		assert.Check(t, is.DeepEqual(got, map[string]string{"result": clean, "status": clean}), "%q", value)
	}
}

func TestOutputsFollowEarlierOnes(t *testing.T) {
	s := newStep(t)
	s.write(outputFile, "other=1")
	f := s.guard()
	s.must(f.SetOutput("status", "failed"))
	data, err := os.ReadFile(s.path(outputFile))
	s.must(err)
	want := map[string]string{"other": "1", "status": "failed"}
	assert.Check(t, is.DeepEqual(sitetest.ReadOutputs(t, string(data)), want), "outputs")
	for _, name := range []string{"", "PATH", "result=x", "status<<x", "Result"} {
		assert.Check(t, f.SetOutput(name, "evil") != nil, "output %q, which action.yml does not have: got no error, want one", name)
	}
}

// TestMissingCommandFiles checks that a write returns an error if the runner provides no command files,
// and that the caller can continue.
func TestMissingCommandFiles(t *testing.T) {
	none, err := GuardFiles(env())
	assert.NilError(t, err)
	assert.Check(t, is.ErrorContains(none.WriteSummary("x"), "GITHUB_STEP_SUMMARY"), "want an error with the variable")
	if changed, err := none.Verify(); changed != nil || err != nil {
		t.Errorf("got %q, %v, want nothing", changed, err)
	}
}

// TestNewFileIsRemoved checks that Verify removes a command file that did not exist when GuardFiles was called.
func TestNewFileIsRemoved(t *testing.T) {
	s := newStep(t)
	s.remove("GITHUB_ENV")
	f := s.guard()
	s.write("GITHUB_ENV", "A=b")
	s.wantChanged(f, "GITHUB_ENV")
	_, err := os.Lstat(s.path("GITHUB_ENV"))
	assert.Check(t, os.IsNotExist(err), "got %v, want no file", err)
}

func TestSummaryKeepsItsLimit(t *testing.T) {
	for _, test := range []struct {
		before, markdown string
		size             int
		cut              bool
	}{
		{"", strings.Repeat("x", maxSummary), maxSummary, false},
		{"", strings.Repeat("x", maxSummary+1), maxSummary, true},
		{"", strings.Repeat("é", maxSummary), maxSummary, true},
		{"", "a" + strings.Repeat("é", maxSummary), maxSummary, true},
		{strings.Repeat("b", 999_000), strings.Repeat("x", 5000), maxSummary, true},
		{strings.Repeat("b", maxSummary-2), "xyz", maxSummary - 1, false},
		{strings.Repeat("b", maxSummary+5), "xyz", maxSummary + 6, false},
	} {
		got := fitSummary(test.before, test.markdown)
		if n := len(got); n > test.size || n < test.size-1 || !utf8.ValidString(got) || strings.HasSuffix(got, summaryCut) != test.cut || !strings.HasPrefix(got, test.before) {
			t.Errorf("%d bytes and %d more: got %d bytes, ends in %q, want %d (cut: %v)", len(test.before), len(test.markdown), n, got[max(0, n-60):], test.size, test.cut)
		}
	}
}
