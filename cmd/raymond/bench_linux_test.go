package main

import (
	"os/exec"
	"testing"

	"github.com/raymond-action/raymond-action/internal/measuretest"
)

// BenchmarkCagedStates compares a loop of 100 script states in cages with the same
// loop without: what each start costs more.
func BenchmarkCagedStates(b *testing.B) {
	dir := workflow(b, map[string]string{"wf/START.sh": `# raymond: cage=true
n=${RAYMOND_RESULT:-0}
if [ "$n" -ge 100 ]; then echo "<result>$n</result>"; else echo "<goto input=\"$((n+1))\">START.sh</goto>"; fi
`})
	s := measuretest.Series{}
	for b.Loop() {
		free, caged := runOnce(b, dir, "--quiet"), runOnce(b, dir, "--quiet", "--cage", "on")
		s.AddTimes("more-", free.Until(caged, 101))
	}
	s.Report(b)
}

// BenchmarkCageCommand compares raymond cage with the command alone.
func BenchmarkCageCommand(b *testing.B) {
	dir := b.TempDir()
	s := measuretest.Series{}
	for b.Loop() {
		bare, caged := exec.Command("/bin/true"), exec.Command(candidate(b).path, "cage", "--", "/bin/true")
		bare.Dir, caged.Dir = dir, dir
		s.AddTimes("more-", measuretest.Run(b, bare).Until(measuretest.Run(b, caged), 1))
	}
	s.Report(b)
}
