package shim_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/shim"
)

// cases are what the JavaScript decides.
type cases struct {
	// Programs says which program is taken: "chosen" is that of RAYMOND_BINARY, "shipped" the one of a release.
	Programs []struct {
		What    string
		Env     map[string]string
		Shipped bool
		Want    string
	}
	// Build are variables of the job, those that a build gets and those that it doesn't.
	Build struct{ Kept, Withheld []string }
}

func readCases(t *testing.T) cases {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	assert.NilError(t, err)
	var c cases
	assert.NilError(t, json.Unmarshal(data, &c))
	return c
}

// TestVariablesOfABuild asks the list of the JavaScript; whether node keeps to it the second tier shows.
func TestVariablesOfABuild(t *testing.T) {
	t.Parallel()
	source, err := fs.ReadFile(shim.Files, "raymond.js")
	assert.NilError(t, err)
	found := regexp.MustCompile(`const forGo = /(.*)/i;`).FindSubmatch(source)
	assert.Assert(t, found != nil, "raymond.js: got no forGo, want a regular expression")
	forGo := regexp.MustCompile("(?i)" + string(found[1]))
	for want, names := range map[bool][]string{true: readCases(t).Build.Kept, false: readCases(t).Build.Withheld} {
		for _, name := range names {
			assert.Check(t, is.Equal(forGo.MatchString(name), want), "variable %s of a build", name)
		}
	}
}
