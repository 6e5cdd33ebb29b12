package protocol

import (
	"cmp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestResolve checks every cell of the table in docs/language.md, and other targets.
func TestResolve(t *testing.T) {
	const others = "A.md A.sh B.MD b.md C.md C.MD D.bat v1.2.md v1.2.sh.md F.md.md .md"
	for _, row := range []struct{ files, target, unix, windows string }{
		{"POLL.md", "", "POLL.md", "POLL.md"},
		{"POLL.sh", "", "POLL.sh", "wrong-platform"},
		{"POLL.bat", "", "wrong-platform", "POLL.bat"},
		{"POLL.ps1", "", "wrong-platform", "POLL.ps1"},
		{"POLL.sh POLL.bat", "", "POLL.sh", "POLL.bat"},
		{"POLL.sh POLL.ps1", "", "POLL.sh", "POLL.ps1"},
		{"POLL.bat POLL.ps1", "", "wrong-platform", "ambiguous"},
		{"POLL.md POLL.sh", "", "ambiguous", "POLL.md"},
		{"POLL.md POLL.bat", "", "POLL.md", "ambiguous"},
		{"POLL.md POLL.ps1", "", "POLL.md", "ambiguous"},
		{"POLL.sh POLL.bat POLL.ps1", "", "POLL.sh", "ambiguous"},
		{"", "A.MD", "A.md", "A.md"},
		{"", "A.sh", "A.sh", "wrong-platform"},
		{"", "B", "B.MD", "B.MD"},
		{"", "b", "b.md", "b.md"},
		{"", "B.md", "B.MD", "B.MD"},
		{"", "C.MD", "C.MD", "C.MD"},
		{"", "C.Md", "ambiguous", "ambiguous"},
		{"", "D.bat", "wrong-platform", "D.bat"},
		{"", "v1.2", "v1.2.md", "v1.2.md"},
		{"", "v1.2.sh", "no-state", "no-state"},
		{"", "F.md", "no-state", "no-state"},
		{"", "a", "no-state", "no-state"},
		{"", ".md", "no-state", "no-state"},
		{"", " ", "no-state", "no-state"},
		{"", "..", "bad-target", "bad-target"},
		{"", "./A.md", "bad-target", "bad-target"},
		{"", `x\A.md`, "bad-target", "bad-target"},
		{"", "A\x00", "bad-target", "bad-target"},
		{"", "A\u0085", "bad-target", "bad-target"},
	} {
		files, target := strings.Fields(others+" "+row.files), cmp.Or(row.target, "POLL")
		for platform, want := range map[Platform]string{Unix: row.unix, Windows: row.windows} {
			got, problem := newCatalog(platform, files).resolve(target)
			if problem != nil {
				got += problem.Code
			}
			assert.Check(t, is.Equal(got, want), "%q of %q on %s", target, files, platform)
		}
	}
}
