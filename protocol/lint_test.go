package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
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

// FuzzLint holds that lint takes any files, and that its findings are about
// places that exist.
func FuzzLint(f *testing.F) {
	f.Add("<goto>A</goto> {{x}}", "echo \"<call return='A'>START</call>\"")
	f.Add("---\nallowed_tags: [goto]\n---\n<result>é</result>\n<fork next=''>…</fork>", "# <goto>X</goto>\r\n")
	f.Add("---\nallowed_transitions: [{tag: fork, next: A}]\n---\n<goto>\nA\n</goto><goto></goto>", "<fork a b><goto>$x</goto>")
	f.Add("---\non_comment: A\nallowed_transitions: [{tag: ask}, {tag: join, target: A}]\n---\n<ask next='A' timeout='x'>é</ask>", "# raymond: job=a\n<ask>\n<join>a b</join>")
	f.Fuzz(func(t *testing.T, prompt, script string) {
		files := map[string]string{"START.md": prompt, "A.sh": script}
		for _, p := range []Platform{Unix, Windows} {
			fsys := fstest.MapFS{"START.md": {Data: []byte(prompt)}, "A.sh": {Data: []byte(script)}}
			for _, got := range Lint(fsys, LintOptions{LoadOptions: LoadOptions{Platform: p}}) {
				text, known := files[got.File]
				lines := strings.Split(text, "\n")
				if !known || got.Pos.Line < 1 || got.Pos.Line > len(lines) || got.Pos.Col < 1 || got.Pos.Col > 1+len(lines[got.Pos.Line-1]) {
					t.Errorf("input: %q, %q\ngot: %v\nwant: a place in one of them", prompt, script, got)
				}
			}
		}
	})
}
