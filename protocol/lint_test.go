package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func showFindings(found []Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s [%s] %v\n", f.Severity, f.Code, f.Problem)
	}
	return b.String()
}

// TestLint keeps what lint finds in folders of states. A platform of "unix
// windows" checks both.
func TestLint(t *testing.T) {
	golden(t, "lint", func(_ *testing.T, files map[string]string) string {
		platforms := strings.Fields(take(files, "platform"))
		o := LintOptions{Meta: strings.Fields(take(files, "meta")), LoadOptions: optionsOf(files)}
		o.Backend, o.CantBranch = take(files, "agent"), strings.Fields(take(files, "cant_branch"))
		_, o.Loop = files["loop"]
		delete(files, "loop")
		delete(files, "want")
		if len(platforms) < 2 {
			o.Platform = Platform(append(platforms, "unix")[0])
			return showFindings(Lint(mapFS(files), o))
		}
		text := ""
		for _, p := range platforms {
			o.Platform = Platform(p)
			text += "on " + p + "\n" + showFindings(Lint(mapFS(files), o))
		}
		return text
	})
}

// TestLintAgreesWithLoad holds that whatever forbids a start is an error of lint.
func TestLintAgreesWithLoad(t *testing.T) {
	golden(t, "load", func(t *testing.T, files map[string]string) string {
		want := files["want"]
		delete(files, "want")
		o := optionsOf(files)
		_, problems := Load(mapFS(files), o)
		found := Lint(mapFS(files), LintOptions{LoadOptions: o})
		for _, p := range problems {
			same := func(f Finding) bool {
				return f.Severity == SeverityError && f.File == p.File && f.Code == p.Code && f.Message == p.Message
			}
			if !slices.ContainsFunc(found, same) {
				t.Errorf("problem of Load: %v\ngot:\n%swant: it is among the errors", p, showFindings(found))
			}
		}
		return want
	})
}
