//go:build linux && (amd64 || arm64)

package cage_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// BenchmarkStart compares a program that starts in a cage with one that starts as it is.
func BenchmarkStart(b *testing.B) {
	p := cage.Policy{Hidden: []string{"/root/.ssh", "/home/runner/.ssh", "/etc/shadow"}, Writable: []string{b.TempDir(), os.DevNull, "/dev/shm"}, Network: open}
	start := func(b *testing.B, in *cage.Entrance) {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if in != nil {
			cmd.Path, cmd.Args, cmd.ExtraFiles = cage.Program, in.Arguments([]string{"true"}), []*os.File{in.File()}
			defer in.Close()
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		if in != nil {
			if err := in.Follow(); err != nil {
				b.Fatal(err)
			}
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			start(b, nil)
		}
	})
	b.Run("caged", func(b *testing.B) {
		c := cage.New(p)
		for b.Loop() {
			in, err := c.Enter("/bin/true", cage.Mark("bench.1"))
			if err != nil {
				b.Fatal(err)
			}
			start(b, in)
		}
	})
}
