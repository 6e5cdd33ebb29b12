package proc

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

var short = []string{"-c", "echo hi"}

// cpu returns the CPU time that this process and its children have used.
func cpu() (total float64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		_ = syscall.Getrusage(who, &u)
		total += float64(u.Utime.Nano() + u.Stime.Nano())
	}
	return total
}

func perRun(b *testing.B, f func() error) {
	begin := cpu()
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpu()-begin)/float64(b.N)/1e3, "cpu-µs/op")
}

func BenchmarkRunTrue(b *testing.B) {
	s := Options{Path: "/bin/bash", Args: short, Env: os.Environ(), MarkVar: markVar, Mark: newMark(), Stdout: io.Discard,
		DeathSignal: syscall.SIGTERM}
	perRun(b, func() error {
		_, err := Run(context.Background(), s)
		return err
	})
}

func BenchmarkBareExec(b *testing.B) {
	perRun(b, func() error {
		_, err := exec.Command("/bin/bash", short...).Output()
		return err
	})
}

// counter is a writer that costs nothing.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func BenchmarkFlood200MB(b *testing.B) {
	const mib = 200
	s := part("flood", "200 stdout")
	b.SetBytes(mib << 20)
	var peak uint64
	for b.Loop() {
		var m runtime.MemStats
		s.Stdout = new(counter)
		if _, err := Run(context.Background(), s); err != nil || *s.Stdout.(*counter) != mib<<20 {
			b.Fatal(err, *s.Stdout.(*counter))
		}
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse)
	}
	b.ReportMetric(float64(peak)/1e3, "heap-kB")
}

// BenchmarkBarePipe200MB is what the pipe itself can do.
func BenchmarkBarePipe200MB(b *testing.B) {
	const mib = 200
	b.SetBytes(mib << 20)
	for b.Loop() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVar+"=flood", argsVar+"=200 stdout")
		cmd.Stdout = new(counter)
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
