package workspace_test

import (
	"fmt"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// BenchmarkSnapshot measures a snapshot after a prompt that changed twenty of 5,000 committed files. The
// worktree contains 200 more files, which are not committed.
func BenchmarkSnapshot(b *testing.B) {
	dir := manyFiles(b, 5000, 50)
	for i := range 200 {
		write(b, dir, fmt.Sprintf("new/f%d", i), fmt.Sprintf("file %d\n", i))
	}
	shots := snapshots(b, &workspace.Git{IsUncaged: true})
	take(b, shots, workspace.Snapshot{IsStart: true, Dir: dir})
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		for i := range 20 {
			write(b, dir, fmt.Sprintf("d%d/f%d", i, i), fmt.Sprintf("file %d as of %d\n", i, n))
		}
		b.StartTimer()
		take(b, shots, workspace.Snapshot{Exec: n, Dir: dir})
	}
}
