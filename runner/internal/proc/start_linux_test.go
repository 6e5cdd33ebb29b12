package proc

import (
	"context"
	"os/exec"
	"testing"
)

// BenchmarkStart compares the start of a child with that of a bare process.
func BenchmarkStart(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("child", func(b *testing.B) {
		for b.Loop() {
			if e, err := Run(context.Background(), Options{Path: "/bin/true", MarkVar: markVar, Mark: newMark()}); err != nil || e.Code != 0 {
				b.Fatal(e, err)
			}
		}
	})
}
