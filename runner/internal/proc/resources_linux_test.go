package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// allocated returns how many bytes this process allocates while it calls f.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestFloodNeedsLittleMemory checks that a large output needs little memory. It is not parallel, because
// it would count the allocations of other tests.
func TestFloodNeedsLittleMemory(t *testing.T) {
	for _, to := range []string{"stdout", "stderr"} {
		s := part("flood", "50 "+to)
		got := allocated(func() {
			assert.Check(t, is.Equal(run(t, s).Code, 0))
		})
		assert.Check(t, got <= 400<<10, "50 MiB on %s: %d bytes were allocated", to, got)
	}
}

// TestOneHugeLineNeedsBoundedMemory checks that a very long line needs limited memory. It is not
// parallel, because it would count the allocations of other tests.
func TestOneHugeLineNeedsBoundedMemory(t *testing.T) {
	const size = 1 << 20
	var got []int
	var cut bool
	lines := &Lines{Max: size, Line: func(line []byte, truncated bool) {
		got, cut = append(got, len(line)), truncated
	}}
	s := part("flood", "30 stdout")
	s.Stdout = lines
	bytes := allocated(func() { run(t, s); lines.Flush() })
	assert.Check(t, slices.Equal(got, []int{size}) && cut && bytes <= 8*size, "lines of %v bytes, truncated: %v; %d bytes allocated", got, cut, bytes)
	assert.Check(t, cap(lines.buf) <= maxReusedBuffer, "a buffer of %d bytes is kept", cap(lines.buf))
}

// playCrowded reduces its limit of processes to zero, keeps half of the spare threads busy, and prints why
// it can't start a child.
func playCrowded([]string) {
	must(AdoptOrphans())
	if os.Getuid() == 0 { // the limit doesn't apply to root
		must(syscall.Setuid(65534))
	}
	must(unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{}))
	for range spareThreads / 2 {
		var fds [2]int
		must(unix.Pipe(fds[:]))
		go func() { _, _ = unix.Read(fds[0], make([]byte, 1)) }()
	}
	_, err := Run(context.Background(), Options{Path: "/bin/true"})
	fmt.Print(err)
}

// TestFullProcessTableIsAnError checks that Run returns a clear error if the process table is full, and
// that this process continues.
func TestFullProcessTableIsAnError(t *testing.T) {
	t.Parallel()
	s := part("crowded", "")
	var out bytes.Buffer
	s.Stdout = &out
	if e := run(t, s); e.Code != 0 || !strings.Contains(out.String(), "resource temporarily unavailable: the limit of processes is reached") {
		t.Errorf("got %q, %+v\n%s", out.String(), e, e.StderrTail)
	}
}
