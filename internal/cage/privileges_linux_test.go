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

// TestPrivilegesAreDropped checks that a caged process can't gain privileges by executing a program, and that
// root lacks the capabilities with which a process could escape from the cage.
func TestPrivilegesAreDropped(t *testing.T) {
	output := runCaged(t, cage.Policy{Writable: []string{os.DevNull}, Network: open}, "cat", "/proc/self/status")
	field := func(name string) string {
		_, rest, _ := strings.Cut(output, "\n"+name+":")
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(line)
	}
	assert.Check(t, is.Equal(field("NoNewPrivs"), "1"), "no new privileges")
	for _, name := range []string{"CapEff", "CapPrm", "CapInh"} {
		has, err := strconv.ParseUint(field(name), 16, 64)
		assert.NilError(t, err, "%s:\n%s", name, output)
		for what, c := range map[string]int{
			"administration": unix.CAP_SYS_ADMIN, "tracing": unix.CAP_SYS_PTRACE, "modules": unix.CAP_SYS_MODULE, "the network": unix.CAP_NET_ADMIN,
			"raw sockets": unix.CAP_NET_RAW, "the search past all rights": unix.CAP_DAC_READ_SEARCH, "measuring": unix.CAP_PERFMON, "BPF": unix.CAP_BPF,
		} {
			assert.Check(t, is.Equal(has&(1<<c), uint64(0)), "%s: got the privilege of %s, want none", name, what)
		}
	}
}

// TestFirstThreadStaysOutside checks that StartInside never confines the first thread, even if many
// threads call it at the same time. That thread lives as long as the program, and a caged process could
// trace it.
func TestFirstThreadStaysOutside(t *testing.T) {
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
