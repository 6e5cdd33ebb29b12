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

// planFD is the descriptor of the socket from which the plan is read and to which the result is written.
const planFD = 3

// Arguments returns the command line with which this program enters a cage and then executes
// another program. argv holds the arguments of that program, beginning with its name.
func Arguments(argv []string) []string {
	return append([]string{"raymond", "cage", "--plan=3", "--"}, argv...)
}

func init() {
	if len(os.Args) > 4 && os.Args[1] == "cage" && os.Args[2] == "--plan=3" && os.Args[3] == "--" {
		runtime.LockOSThread()
		exec(os.Args[4:])
	}
}

// exec reads the plan, enters the cage and replaces this process with the program. It never
// returns: after a failure it sends the error through planFD and exits with code 126.
func exec(argv []string) {
	unix.CloseOnExec(planFD)
	plan := new(Plan)
	err := json.NewDecoder(os.NewFile(planFD, "plan")).Decode(plan)
	if err == nil {
		if !plan.IsTrusted {
			prepareProcess()
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

// prepareProcess prepares this process for a cage. It marks all descriptors but the standard streams
// close-on-exec, so that no file that raymond had open reaches the caged program. It also makes
// the kernel kill this process first when memory runs out, and not the rest of the job. If
// oom_score_adj can't be written, the kernel chooses.
func prepareProcess() {
	_ = unix.CloseRange(planFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	fd, err := unix.Open("/proc/self/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, []byte("1000"))
	_ = unix.Close(fd)
}

// enter applies the plan and sends the seccomp listener, if there is one, through planFD.
func enter(plan *Plan) error {
	listener, err := plan.Apply()
	if err != nil || listener < 0 {
		return err
	}
	// The filter is in force already and allows this message. A call that waits for the warden, such
	// as connect, would block forever here, because the warden starts when it has the listener.
	if err := unix.Sendmsg(planFD, []byte{answerListener}, unix.UnixRights(listener), nil, 0); err != nil {
		return os.NewSyscallError("sendmsg", err)
	}
	return unix.Close(listener)
}

// The first bytes of the messages to the starter. If the socket closes without a message, the
// program runs without a listener.
const (
	answerListener = 'L' // carries the listener
	answerFailure  = 'E' // followed by an errno in 4 bytes and the error text
)

// Failure is the reason why a process could not enter its cage or execute the program.
type Failure struct {
	What  string
	Errno syscall.Errno // 0 if no system call failed
}

// Error implements error.
func (f *Failure) Error() string { return f.What }

// Unwrap returns the errno, for errors.Is.
func (f *Failure) Unwrap() error { return f.Errno }

// AwaitExec waits until the process at the other end of conn executes its program or fails. After
// a failure the error is a *Failure. listener is nil if the process has no seccomp listener.
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
