package main

import (
	"os/exec"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// BenchmarkCagedStates compares a loop of 100 script states in cages with the same
// loop without: what each start costs more.
func BenchmarkCagedStates(b *testing.B) {
	dir := workflow(b, map[string]string{"wf/START.sh": `# raymond: cage=true
n=${RAYMOND_RESULT:-0}
if [ "$n" -ge 100 ]; then echo "<result>$n</result>"; else echo "<goto input=\"$((n+1))\">START.sh</goto>"; fi
`})
	var wall, cpu []float64
	for b.Loop() {
		free, caged := runOnce(b, dir, "--quiet"), runOnce(b, dir, "--quiet", "--cage", "on")
		wall = append(wall, float64((caged.wall-free.wall).Microseconds())/101/1000)
		cpu = append(cpu, float64((caged.cpu-free.cpu).Microseconds())/101/1000)
	}
	median(b, wall, "more-ms/start")
	median(b, cpu, "more-cpu-ms/start")
}

// BenchmarkCageCommand compares raymond cage with the command alone.
func BenchmarkCageCommand(b *testing.B) {
	dir := b.TempDir()
	var wall, cpu []float64
	for b.Loop() {
		bare, caged := exec.Command("/bin/true"), exec.Command(sitetest.Raymond.Path(b), "cage", "--", "/bin/true")
		bare.Dir, caged.Dir = dir, dir
		without, with := measure(b, bare), measure(b, caged)
		wall = append(wall, float64((with.wall-without.wall).Microseconds())/1000)
		cpu = append(cpu, float64((with.cpu-without.cpu).Microseconds())/1000)
	}
	median(b, wall, "more-ms")
	median(b, cpu, "more-cpu-ms")
}
