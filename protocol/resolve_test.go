package protocol

import (
	"strings"
	"testing"
)

// TestResolveTable is the table of the language, cell by cell.
func TestResolveTable(t *testing.T) {
	for _, row := range []struct{ files, unix, windows string }{
		{"POLL.md", "POLL.md", "POLL.md"},
		{"POLL.sh", "POLL.sh", "wrong-platform"},
		{"POLL.bat", "wrong-platform", "POLL.bat"},
		{"POLL.ps1", "wrong-platform", "POLL.ps1"},
		{"POLL.sh POLL.bat", "POLL.sh", "POLL.bat"},
		{"POLL.sh POLL.ps1", "POLL.sh", "POLL.ps1"},
		{"POLL.bat POLL.ps1", "wrong-platform", "ambiguous"},
		{"POLL.md POLL.sh", "ambiguous", "POLL.md"},
		{"POLL.md POLL.bat", "POLL.md", "ambiguous"},
		{"POLL.md POLL.ps1", "POLL.md", "ambiguous"},
		{"POLL.sh POLL.bat POLL.ps1", "POLL.sh", "ambiguous"},
	} {
		files := append(strings.Fields(row.files), "OTHER.md", "POLL.txt", "poll.md")
		for platform, want := range map[Platform]string{Unix: row.unix, Windows: row.windows} {
			if got := resolved(files, "POLL", platform); got != want {
				t.Errorf("files %s on %s\ngot  %s\nwant %s", row.files, platform, got, want)
			}
		}
	}
}

// resolved returns the file or the code of the problem.
func resolved(files []string, target string, p Platform) string {
	name, problem := newCatalog(p, files).resolve(target)
	if problem == nil {
		return name
	}
	if name != "" || problem.Message == "" {
		return "a name and a problem"
	}
	return problem.Code
}

func TestResolveTargets(t *testing.T) {
	files := strings.Fields("A.md A.sh B.MD b.md C.md C.MD D.bat v1.2.md v1.2.sh.md E.Sh F.md.md .md")
	for _, c := range []struct{ target, unix, windows string }{
		{"A.md", "A.md", "A.md"},
		{"A.MD", "A.md", "A.md"},
		{"A.sh", "A.sh", "wrong-platform"},
		{"A", "ambiguous", "A.md"},
		{"B", "B.MD", "B.MD"},
		{"b", "b.md", "b.md"},
		{"B.md", "B.MD", "B.MD"},
		{"C.md", "C.md", "C.md"},
		{"C.MD", "C.MD", "C.MD"},
		{"C.Md", "ambiguous", "ambiguous"},
		{"C", "ambiguous", "ambiguous"},
		{"D.bat", "wrong-platform", "D.bat"},
		{"v1.2", "v1.2.md", "v1.2.md"},
		{"v1", "no-state", "no-state"},
		{"v1.2.sh", "no-state", "no-state"},
		{"E", "E.Sh", "wrong-platform"},
		{"F.md", "no-state", "no-state"},
		{"F.md.md", "F.md.md", "F.md.md"},
		{"G.md", "no-state", "no-state"},
		{"a", "no-state", "no-state"},
		{".md", "no-state", "no-state"},
		{"", "bad-target", "bad-target"},
		{".", "bad-target", "bad-target"},
		{"..", "bad-target", "bad-target"},
		{"./A.md", "bad-target", "bad-target"},
		{`x\A.md`, "bad-target", "bad-target"},
		{"A\x00", "bad-target", "bad-target"},
		{"A\n.md", "bad-target", "bad-target"},
		{"A\x7f", "bad-target", "bad-target"},
		{"A\u0085", "bad-target", "bad-target"},
	} {
		for platform, want := range map[Platform]string{Unix: c.unix, Windows: c.windows} {
			if got := resolved(files, c.target, platform); got != want {
				t.Errorf("target %q on %s\ngot  %s\nwant %s", c.target, platform, got, want)
			}
		}
	}
}
