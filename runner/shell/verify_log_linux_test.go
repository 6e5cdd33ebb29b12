package shell

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// took matches the duration of a command in a log.
var took = regexp.MustCompile(`\(\d+\.\ds\)`)

// readLog returns a log in which durations are replaced, because they differ from run to run.
func readLog(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	assert.NilError(t, err)
	return took.ReplaceAllString(string(data), "(TIME)")
}

// TestLogDescribesAttempt checks the whole log of one attempt, and the verdicts in the logs of two
// other attempts.
func TestLogDescribesAttempt(t *testing.T) {
	t.Parallel()
	c := checks(t, "echo out; echo err >&2; exit 3", "true")
	c.Attempt, c.AgentCode = 2, 1
	runChecks(t, c)
	want := "attempt 2\nagent exit code: 1\n\n$ echo out; echo err >&2; exit 3\nout\nerr\nrc: 3 (TIME)\n\n$ true\nrc: 0 (TIME)\n\nverdict: failed\n"
	assert.Check(t, is.DeepEqual(readLog(t, c.LogFile), want), "log")
	c.Commands, c.Refused = []string{"true"}, "there is no transition tag"
	runChecks(t, c)
	got := readLog(t, c.LogFile)
	assert.Check(t, strings.HasSuffix(got, "no transition: there is no transition tag\n\nverdict: failed\n"), "log of an attempt without a tag: got %q, want it failed", got)
	c.Refused = ""
	runChecks(t, c)
	got = readLog(t, c.LogFile)
	assert.Check(t, strings.HasSuffix(got, "\n\nverdict: passed\n"), "log of an attempt that converged: got %q, want it passed", got)
}

// TestEarlierLogsAreKept checks that earlier logs are renamed to .1, .2, … and stay unchanged.
func TestEarlierLogsAreKept(t *testing.T) {
	t.Parallel()
	c := checks(t, "true")
	for c.Attempt = 1; c.Attempt <= 3; c.Attempt++ {
		runChecks(t, c)
	}
	for path, want := range map[string]string{c.LogFile: "attempt 3\n", c.LogFile + ".1": "attempt 1\n", c.LogFile + ".2": "attempt 2\n"} {
		if got := readLog(t, path); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %.20q, want %q", filepath.Base(path), got, want)
		}
	}
}

// TestUnwritableLogChangesNoVerdict checks that verification works without a log.
func TestUnwritableLogChangesNoVerdict(t *testing.T) {
	t.Parallel()
	c := checks(t, "true", "echo x; false")
	c.LogFile = filepath.Join(c.Dir, "file", "A.md.log")
	assert.NilError(t, os.WriteFile(filepath.Join(c.Dir, "file"), nil, 0o600))
	if r := runChecks(t, c); r[0].RC != 0 || r[1].RC != 1 || r[1].Tail != "x\n" {
		t.Errorf("results: got %+v, want rc 0, then 1", r)
	}
}
