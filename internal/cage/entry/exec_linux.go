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

// planFD is the descriptor of the socket from which exec reads the plan and to which it writes the result.
const planFD = 3

// Arguments returns a command line that makes raymond enter a cage and then execute another program. argv
// are the arguments of that program, beginning with its name.
func Arguments(argv []string) []string {
	return append([]string{"raymond", "cage", "--plan=3", "--"}, argv...)
}

func init() {
	if len(os.Args) > 4 && os.Args[1] == "cage" && os.Args[2] == "--plan=3" && os.Args[3] == "--" {
		runtime.LockOSThread()
		exec(os.Args[4:])
	}
}

// exec reads the plan, enters the cage and replaces this process with the program. It never returns. If
// something fails, it sends the error through planFD and exits with code 126.
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

// prepareProcess prepares this process for a cage. It marks all descriptors except the standard streams as
// close-on-exec, so that the caged program inherits no other open files. It also sets oom_score_adj, so that
// the kernel kills this process before the job's other processes if memory runs out. Failing to set
// oom_score_adj is not an error.
func prepareProcess() {
	_ = unix.CloseRange(planFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	fd, err := unix.Open("/proc/self/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, []byte("1000"))
	_ = unix.Close(fd)
}

// enter applies the plan and sends the seccomp listener through planFD if there is one.
func enter(plan *Plan) error {
	listener, err := plan.Apply()
	if err != nil || listener < 0 {
		return err
	}
	// The filter already applies to this thread, but it allows sendmsg. A call that waits for the warden,
	// such as connect, would block forever, because the warden starts only after it has received the listener.
	if err := unix.Sendmsg(planFD, []byte{answerListener}, unix.UnixRights(listener), nil, 0); err != nil {
		return os.NewSyscallError("sendmsg", err)
	}
	return unix.Close(listener)
}

// The first bytes of the messages to the process that started this one. If the socket closes without a
// message, the program was executed and there is no listener.
const (
	answerListener = 'L' // the message carries the listener's descriptor
	answerFailure  = 'E' // an errno in 4 bytes and the error text follow
)

// Failure is the reason why a process could not enter its cage or execute the program.
type Failure struct {
	What  string
	Errno syscall.Errno // 0 if no system call failed
}

// Error implements error.
func (f *Failure) Error() string { return f.What }

// Unwrap returns the errno, so that errors.Is finds it.
func (f *Failure) Unwrap() error { return f.Errno }

// AwaitExec waits until the process at the other end of conn executes its program or fails. If the process
// fails, the error is a *Failure. The listener is nil if the process has no seccomp listener.
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
			messages, err := unix.ParseSocketControlMessage(rights[:oobn])
			if err != nil || len(messages) == 0 {
				continue
			}
			if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) > 0 {
				listener = os.NewFile(uintptr(fds[0]), "listener")
			}
		}
	}
}
