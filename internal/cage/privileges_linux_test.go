//go:build linux && (amd64 || arm64)

package cage_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// TestPrivilegesAreHeld: nothing in a cage gains privileges by what it runs, and root has
// none of those by which one gets around a cage.
func TestPrivilegesAreHeld(t *testing.T) {
	said := caged(t, cage.Policy{Writable: []string{os.DevNull}, Network: open}, "cat", "/proc/self/status")
	field := func(name string) string {
		_, rest, _ := strings.Cut(said, "\n"+name+":")
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(line)
	}
	assert.Check(t, is.Equal(field("NoNewPrivs"), "1"), "no new privileges")
	for _, name := range []string{"CapEff", "CapPrm", "CapInh"} {
		has, err := strconv.ParseUint(field(name), 16, 64)
		assert.NilError(t, err, "%s:\n%s", name, said)
		for what, c := range map[string]int{
			"administration": unix.CAP_SYS_ADMIN, "tracing": unix.CAP_SYS_PTRACE, "modules": unix.CAP_SYS_MODULE, "the network": unix.CAP_NET_ADMIN,
			"raw sockets": unix.CAP_NET_RAW, "the search past all rights": unix.CAP_DAC_READ_SEARCH, "measuring": unix.CAP_PERFMON, "BPF": unix.CAP_BPF,
		} {
			assert.Check(t, is.Equal(has&(1<<c), uint64(0)), "%s: got the privilege of %s, want none", name, what)
		}
	}
}

// TestTheFirstThreadStaysOutside, however many threads start processes in a cage at once: a caged process could
// trace it for as long as the program runs.
func TestTheFirstThreadStaysOutside(t *testing.T) {
	const many = 40
	var started, all sync.WaitGroup
	started.Add(many)
	for range many {
		all.Go(func() {
			assert.Check(t, cage.New(cage.Policy{Network: open}).StartInside(func() error {
				started.Done()
				started.Wait()
				return nil
			}))
		})
	}
	all.Wait()
	status, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", os.Getpid()))
	assert.Check(t, err)
	assert.Check(t, strings.Contains(string(status), "NoNewPrivs:\t0\n"), "the first thread is in a cage")
}
