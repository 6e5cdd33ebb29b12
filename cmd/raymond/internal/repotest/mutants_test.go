package repotest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// mutant replaces the behaviour of one function.
type mutant struct {
	pkg      string // the folder of its package
	function string // Name of a function, or Receiver.Name of a method
	instead  string // statements that run first and return
}

// mutants are the mutants that must each make a test fail. Most of the functions implement barriers in the table of
// SECURITY.md.
var mutants = []mutant{
	{"protocol", "matcher.allows", "return true"},
	{"protocol", "Transitions.AllowsManyForks", "return true"},
	{"protocol", "matcher.fits", "return true"},
	{"protocol", "matcher.inTargets", "return true"},
	{"protocol", "areLogins", "return true"},
	{"state", "limits.overBudget", `return ""`},
	{"state", "limits.overIterations", "return false"},
	{"internal/untrusted/jsonstrict", "CheckSize", "return nil"},
	{"internal/untrusted/jsonstrict", "check", "return nil"},
	{"internal/untrusted/archive", "checkEntry", "return nil"},
	{"internal/untrusted/archive", "fold", "return name"},
	{"internal/untrusted/archive", "checkRanges", "return nil"},
	{"internal/untrusted/archive", "names.add", "return nil"},
	{"internal/untrusted/files", "notRegular", "return nil"},
	{"internal/untrusted/secrets", "IsSecret", "return false"},
	{"internal/untrusted/secrets", "IsWithheld", "return false"},
	{"internal/untrusted/secrets", "base64Forms", "return nil"},
	{"internal/untrusted/secrets", "Set.Text", "return text"},
	{"internal/untrusted/text", "IsInvisible", "return false"},
	{"internal/untrusted/text", "WithoutHidden", "return s"},
	{"internal/untrusted/text", "Fence", "return s"},
	{"internal/cage/forward", "List.allows", "return true"},
	{"internal/cage/forward", "List.checkDial", "return nil"},
	{"internal/forge", "stayOn", "return nil"},
	{"runner/keyproxy", "Account.check", "return nil"},
	{"runner/keyproxy", "accounts.fits", "return true"},
	{"runner/keyproxy", "Account.isAuthorized", "return true"},
	{"runner/keyproxy", "checkCredential", "return nil"},
	{"runner/shell", "digests", "return nil"},
	{"artifacts/slots", "Origin.foreignArtifact", `return ""`},
	{"artifacts/slots", "Origin.foreignRun", `return ""`},
	{"artifacts/slots", "Origin.foreignBranch", `return ""`},
	{"artifacts/slots", "mayBeForks", "return false"},
	{"artifacts/checkpoint", "Manifest.verify", "return nil"},
	{"artifacts/checkpoint", "Manifest.validate", "return nil"},
	{"cmd/raymond/internal/job", "selectVariables", "return environ"},
	{"cmd/raymond/internal/job", "commandFile.isIntact", "return true"},
	{"cmd/raymond/internal/job", "fence", "return s"},
	{"cmd/raymond/internal/ask", "isFrom", "return true"},
}

// change returns the path of the file that contains the function, and the file's text with the mutant. The function's own
// statements follow the statements of the mutant, so that no import or variable becomes unused.
func (m mutant) change() (path string, text []byte, err error) {
	receiver, name, isMethod := strings.Cut(m.function, ".")
	head := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(receiver) + `\(.*\{`)
	if isMethod {
		head = regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?` + receiver + `\) ` + name + `\(.*\{`)
	}
	paths, err := filepath.Glob(filepath.Join(filepath.FromSlash(m.pkg), "*.go"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		if at := head.FindIndex(text); at != nil && !strings.HasSuffix(path, "_test.go") {
			return path, slices.Insert(text, at[1], []byte(" if true { "+m.instead+" };")...), nil
		}
	}
	return "", nil, fmt.Errorf("%s has no function %s", m.pkg, m.function)
}

// TestEachMutatedFunctionExists checks that each function in mutants exists, so that a renamed function is also renamed there.
func TestEachMutatedFunctionExists(t *testing.T) {
	t.Chdir("../../../..")
	for _, m := range mutants {
		_, _, err := m.change()
		assert.Check(t, err)
	}
}
