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

// A mark has a bit that is set in no real limit. Below it are 32 bits of the hash of the text before the last
// dot, which the invocations of a run share, and 29 bits of the hash of the whole text.
const (
	markBit    = 1 << 62
	lowBits    = 29
	lowMask    = 1<<lowBits - 1
	prefixMask = ^uint64(lowMask)
)

// Mark returns the mark for a text of the form "RUN.N".
func Mark(text string) uint64 {
	run := text
	if at := strings.LastIndexByte(text, '.'); at >= 0 {
		run = text[:at]
	}
	return markPrefix(run) | sum(text)&lowMask
}

// markPrefix returns the bits that all marks of a run share.
func markPrefix(run string) uint64 { return markBit | sum(run)>>32<<lowBits }

func sum(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// MarkOf returns the mark of a process; 0 for a process without a mark.
func MarkOf(pid int) uint64 {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err != nil {
		if !errors.Is(err, unix.EPERM) {
			return 0
		}
		limit = procLimit(pid) // a process of another user, as a child of root can become
	}
	if limit.Cur != limit.Max || limit.Cur>>62 != 1 {
		return 0
	}
	return limit.Cur
}

// procLimit reads the limit from /proc, which is allowed for processes of other users too.
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

// IsMarkOf reports whether a mark belongs to a run.
func IsMarkOf(mark uint64, run string) bool { return mark != 0 && mark&prefixMask == markPrefix(run) }
