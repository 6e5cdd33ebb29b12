package entry

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// planFD is where the plan comes from, and the answer goes to.
const planFD = 3

// Arguments are the arguments with which this program becomes another one, whose own
// arguments, beginning with its name, are given.
func Arguments(argv []string) []string {
	return append([]string{"raymond", "cage", "--plan=3", "--"}, argv...)
}

func init() {
	if len(os.Args) > 4 && os.Args[1] == "cage" && os.Args[2] == "--plan=3" && os.Args[3] == "--" {
		runtime.LockOSThread()
		become(os.Args[4:])
	}
}

// become reads the plan, puts the cage on and becomes the program. It returns never.
func become(argv []string) {
	unix.CloseOnExec(planFD)
	plan := new(Plan)
	err := json.NewDecoder(os.NewFile(planFD, "plan")).Decode(plan)
	if err == nil {
		if !plan.IsTrusted {
			ready()
		}
		err = enter(plan)
	}
	if err == nil {
		err = os.NewSyscallError("execve", syscall.Exec(string(plan.Path), argv, os.Environ()))
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	what := err.Error()
	_, _ = unix.Write(planFD, append(binary.LittleEndian.AppendUint32([]byte{answerFailure}, uint32(errno)), what[:min(len(what), 400)]...))
	os.Exit(126)
}

// ready makes this process one for a cage: nothing that it was left open, beside its streams, goes to the programs that it
// becomes or starts, and when memory is used up the kernel ends it, and not the job. Where that can't be said, the kernel
// chooses.
func ready() {
	_ = unix.CloseRange(planFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	fd, err := unix.Open("/proc/self/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, []byte("1000"))
	_ = unix.Close(fd)
}

// enter puts the cage on and hands the listener over.
func enter(plan *Plan) error {
	listener, err := plan.Apply()
	if err != nil || listener < 0 {
		return err
	}
	// The filter lets this message pass: only connections are decided by others.
	if err := unix.Sendmsg(planFD, []byte{answerListener}, unix.UnixRights(listener), nil, 0); err != nil {
		return os.NewSyscallError("sendmsg", err)
	}
	return unix.Close(listener)
}

// The answers, in their first byte. No answer at all means that the program runs
// without a listener.
const (
	answerListener = 'L' // comes with the listener
	answerFailure  = 'E' // an errno in 4 bytes, and what failed
)

// Failure is why a process didn't get into its cage, or couldn't become the program.
type Failure struct {
	What  string
	Errno syscall.Errno // 0 if no call of the system failed
}

// Error implements error.
func (f *Failure) Error() string { return f.What }

// Unwrap makes errors.Is know the errno.
func (f *Failure) Unwrap() error { return f.Errno }

// AwaitExec waits until the process at the other end of a socket has become its
// program, or couldn't. The listener is nil where there is none.
func AwaitExec(conn *os.File) (listener *os.File, err error) {
	data, rights := make([]byte, 512), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(int(conn.Fd()), data, rights, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n == 0:
			return listener, err
		case data[0] == answerFailure && n >= 5:
			return listener, &Failure{What: string(data[5:n]), Errno: syscall.Errno(binary.LittleEndian.Uint32(data[1:]))}
		default:
			if fd := firstRight(rights[:oobn]); fd >= 0 {
				listener = os.NewFile(uintptr(fd), "listener")
			}
		}
	}
}

func firstRight(oob []byte) int {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1
	}
	return fds[0]
}
