//go:build linux && (amd64 || arm64)

package cage

import (
	"bytes"
	"errors"
	"hash/fnv"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The bits of a mark. markBit is set in no real resource limit. The next 32 bits come from a hash of the
// text before the last dot, so all invocations of a run have the same value there. The lowest 29 bits
// come from a hash of the whole text.
const (
	markBit    = 1 << 62
	lowBits    = 29
	lowMask    = 1<<lowBits - 1
	prefixMask = ^uint64(lowMask)
)

// Mark returns the mark for a text in the form "RUN.N", which names a run and an invocation in it.
func Mark(text string) uint64 {
	run := text
	if at := strings.LastIndexByte(text, '.'); at >= 0 {
		run = text[:at]
	}
	return markPrefix(run) | sum(text)&lowMask
}

// markPrefix returns the bits that all marks of a run share.
func markPrefix(run string) uint64 { return markBit | sum(run)>>32<<lowBits }

// sum returns a 64-bit hash of a text.
func sum(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// MarkOf returns the mark of a process. It returns 0 if the process carries no mark or doesn't exist.
func MarkOf(pid int) uint64 {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err != nil {
		if !errors.Is(err, unix.EPERM) {
			return 0
		}
		// The process may belong to another user. A child of root can become another user.
		limit = procLimit(pid)
	}
	if limit.Cur != limit.Max || limit.Cur>>62 != 1 {
		return 0
	}
	return limit.Cur
}

// procLimit reads the limit RLIMIT_RTTIME of a process from /proc, which also works for processes of other
// users. It returns a zero limit if that fails.
func procLimit(pid int) unix.Rlimit {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return unix.Rlimit{}
	}
	_, rest, _ := bytes.Cut(data, []byte("\nMax realtime timeout"))
	fields := bytes.Fields(rest)
	if len(fields) < 2 {
		return unix.Rlimit{}
	}
	soft, _ := strconv.ParseUint(string(fields[0]), 10, 64)
	hard, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return unix.Rlimit{Cur: soft, Max: hard}
}

// IsMarkOf reports whether a mark belongs to a run. It returns false for mark 0.
func IsMarkOf(mark uint64, run string) bool { return mark != 0 && mark&prefixMask == markPrefix(run) }
