package scope

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/protocol/lint"
)

func TestLintWarnsOfMissingBash(t *testing.T) {
	defer func(was func() (string, error)) { findBash = was }(findBash)
	findBash = func() (string, error) { return "", errors.New("there is no bash") }
	for done, want := range map[string]string{"done_when: 'true'\n": "done_when: there is no bash", "": ""} {
		dir := t.TempDir()
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "START.md"), []byte("---\n"+done+"allowed_tags: [result]\n---\nx\n"), 0o600))
		s, err := Open(dir)
		assert.NilError(t, err)
		var got []string
		for _, f := range s.Lint(lint.Options{LoadOptions: s.loadOptions()}) {
			if f.Code == "no-bash" {
				got = append(got, string(f.Severity)+" "+f.String())
			}
		}
		s.Close()
		if g := strings.Join(got, "\n"); (g != "") != (want != "") || !strings.Contains(g, want) || len(got) > 1 {
			t.Errorf("%q: got %q, want %q", done, g, want)
		}
	}
}
