package runs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/internal/measuretest"
)

// BenchmarkReport is the program that writes the page of a run of a thousand agents
// with 50 MB of transcripts.
func BenchmarkReport(b *testing.B) {
	program, err := measuretest.Program(filepath.Join(b.TempDir(), "raymond"))
	if err != nil {
		b.Fatal(err)
	}
	source := newLarge(b, 1000, 50_000)
	page := filepath.Join(b.TempDir(), "page.html")
	s := measuretest.Series{}
	for b.Loop() {
		cmd := exec.Command(program, "report", "large", "--state-dir", source.StateDir, "--output", page)
		cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+filepath.Join(filepath.Dir(source.StateDir), "claude"))
		used, peak := measuretest.Peak(b, cmd)
		info, err := os.Stat(page)
		if err != nil {
			b.Fatal(err)
		}
		s.AddTimes("", used)
		s.Add("peak-MiB", peak)
		s.Add("page-MB", float64(info.Size())/1e6)
	}
	s.Report(b)
}
