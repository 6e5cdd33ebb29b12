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

// Marks have a bit that no real limit has. The rest is, from above, 32 bits of the
// text up to its last dot, which the invocations of a run share, and 29 bits of all.
const (
	markBit  = 1 << 62
	lowBits  = 29
	lowMask  = 1<<lowBits - 1
	familyOf = ^uint64(lowMask)
)

// Mark is the number for a text such as "RUN.N".
func Mark(text string) uint64 {
	run := text
	if at := strings.LastIndexByte(text, '.'); at >= 0 {
		run = text[:at]
	}
	return markPrefix(run) | sum(text)&lowMask
}

// markPrefix is what all marks of a run have in common.
func markPrefix(run string) uint64 { return markBit | sum(run)>>32<<lowBits }

func sum(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// MarkOf returns the mark that a process carries; 0 for none.
func MarkOf(pid int) uint64 {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err != nil {
		if !errors.Is(err, unix.EPERM) {
			return 0
		}
		limit = shownLimit(pid) // of another user, as root's child may have become
	}
	if limit.Cur != limit.Max || limit.Cur>>62 != 1 {
		return 0
	}
	return limit.Cur
}

// shownLimit is the limit as everybody may read it.
func shownLimit(pid int) unix.Rlimit {
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

// IsMarkOf reports whether a mark is one of a run's.
func IsMarkOf(mark uint64, run string) bool { return mark != 0 && mark&familyOf == markPrefix(run) }
