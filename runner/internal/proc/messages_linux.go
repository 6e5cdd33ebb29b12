package proc

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/runner/internal/proc/supervisor"
)

// messages is our end of the control socket of a supervisor.
type messages struct{ *os.File }

// next waits for the next message. The word is "" when none comes any more.
func (m *messages) next() (word string, numbers []int64) {
	var buf [256]byte
	n, err := m.Read(buf[:])
	fields := strings.Fields(string(buf[:max(0, n)]))
	if err != nil || len(fields) == 0 {
		return "", nil
	}
	for _, f := range fields[1:] {
		number, _ := strconv.ParseInt(f, 10, 64)
		numbers = append(numbers, number)
	}
	return fields[0], numbers
}

// started waits until the supervisor has started the child.
func (m *messages) started(path string) error {
	word, numbers := m.next()
	switch {
	case word == supervisor.Started:
		return nil
	case word == supervisor.Failed && len(numbers) == 1:
		return &os.PathError{Op: "fork/exec", Path: path, Err: syscall.Errno(numbers[0])}
	}
	return errNoSupervisor(path)
}

// exited waits until the child has exited, or the supervisor has died.
func (m *messages) exited() exited {
	word, numbers := m.next()
	if word != supervisor.Exited || len(numbers) != 3 {
		return exited{lost: true}
	}
	return exited{status: syscall.WaitStatus(numbers[0]), cpu: time.Duration(numbers[1] + numbers[2])}
}

// ended waits until the supervisor has ended what the child left, until giveUp at
// most. It says whether the supervisor has come to that.
func (m *messages) ended(giveUp time.Time) (swept, left int, ok bool) {
	_ = m.SetReadDeadline(giveUp)
	word, numbers := m.next()
	if word != supervisor.Ended || len(numbers) != 2 {
		return 0, 0, false
	}
	return int(numbers[0]), int(numbers[1]), true
}

// order tells the supervisor to signal the child or its group. One that is no more
// needs no order.
func (m *messages) order(sig syscall.Signal, group bool) {
	order := [2]byte{byte(sig)}
	if group {
		order[1] = 1
	}
	_, _ = m.Write(order[:])
}

// exited is how a child has ended.
type exited struct {
	status syscall.WaitStatus
	cpu    time.Duration
	lost   bool // its supervisor died, and the child with it
}

// ending is what an Exit says of it.
func (x exited) ending() ending {
	switch {
	case x.lost:
		return ending{code: -1, signal: unix.SignalName(syscall.SIGKILL)}
	case x.status.Signaled():
		return ending{code: -1, signal: nameOf(x.status), cpu: x.cpu}
	}
	return ending{code: x.status.ExitStatus(), cpu: x.cpu}
}
