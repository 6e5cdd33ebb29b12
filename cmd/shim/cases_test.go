package shim_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"testing"

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
	if err != nil {
		t.Fatal(err)
	}
	var c cases
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestVariablesOfABuild asks the list of the JavaScript; whether node keeps to it the second tier shows.
func TestVariablesOfABuild(t *testing.T) {
	t.Parallel()
	source, err := fs.ReadFile(shim.Files, "raymond.js")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`const forGo = /(.*)/i;`).FindSubmatch(source)
	if found == nil {
		t.Fatal("raymond.js: got no forGo, want a regular expression")
	}
	forGo := regexp.MustCompile("(?i)" + string(found[1]))
	for want, names := range map[bool][]string{true: readCases(t).Build.Kept, false: readCases(t).Build.Withheld} {
		for _, name := range names {
			if got := forGo.MatchString(name); got != want {
				t.Errorf("variable %s of a build: got %t, want %t", name, got, want)
			}
		}
	}
}
