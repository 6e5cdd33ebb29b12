package proc

import (
	"context"
	"os"
	"runtime"
	"slices"
	"testing"
)

// allocated returns how many bytes f allocates, in this whole process.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// Not parallel: the allocations of other tests would count.
func TestFloodNeedsLittleMemory(t *testing.T) {
	for _, to := range []string{"stdout", "stderr"} {
		s := part("flood", "200 "+to)
		got := allocated(func() {
			if e := run(t, s); e.Code != 0 {
				t.Errorf("got %+v", e)
			}
		})
		if got > 400<<10 {
			t.Errorf("200 MiB on %s: %d bytes were allocated", to, got)
		}
	}
}

// Not parallel: the allocations of other tests would count.
func TestOneHugeLineNeedsBoundedMemory(t *testing.T) {
	const size = 1 << 20
	var got []int
	var cut bool
	lines := &Lines{Max: size, Line: func(line []byte, truncated bool) {
		got, cut = append(got, len(line)), truncated
	}}
	s := part("flood", "100 stdout")
	s.Stdout = lines
	bytes := allocated(func() { run(t, s); lines.Flush() })
	if !slices.Equal(got, []int{size}) || !cut || bytes > 4*size {
		t.Errorf("lines of %v bytes, truncated: %v; %d bytes allocated", got, cut, bytes)
	}
	if cap(lines.buf) > keptBuffer {
		t.Errorf("a buffer of %d bytes is kept", cap(lines.buf))
	}
}

// Not parallel: the files and goroutines of other tests would count.
func TestRunLeaksNothing(t *testing.T) {
	run(t, part("exit", "0")) // what stays for good is there from now on
	files, routines := openFiles(t), runtime.NumGoroutine()
	for range 20 {
		s := part("exit", "0")
		s.Stdin = []byte("x")
		run(t, s)
		_, _ = Run(context.Background(), Options{Path: "/no/such/program", Stdin: s.Stdin})
		_, _ = Run(context.Background(), Options{Path: "no-such-program"})
	}
	if got := openFiles(t); got > files {
		t.Errorf("%d files are open, %d were", got, files)
	}
	if got := runtime.NumGoroutine(); got > routines+2 { // the last of Run may just be ending
		t.Errorf("%d goroutines run, %d did", got, routines)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
