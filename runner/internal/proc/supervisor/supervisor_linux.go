package supervisor

import (
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// grace is how long a child may live on after the one that ordered it has died.
const grace = 8 * time.Second

// What the package syscall has no names for.
const (
	prSetChildSubreaper = 36
	prSetNoNewPrivs     = 38
	waitAll             = 0         // P_ALL
	leaveZombie         = 0x1000000 // WNOWAIT
)

func init() {
	if len(os.Args) > 4 && os.Args[1] == Argument {
		runtime.LockOSThread() // of orphans and the death signal the kernel thinks by threads
		supervise(parse(os.Args[2:]))
		os.Exit(0)
	}
}

// parse reads what Args has written.
func parse(args []string) Order {
	number, _ := strconv.Atoi(args[0])
	return Order{DeathSignal: number, NoNewPrivs: args[1] == "1", Path: args[2], Argv: args[3:]}
}

// supervise is the life of a supervisor.
func supervise(o Order) {
	syscall.CloseOnExec(Control)
	w := &ward{hurry: make(chan struct{})}
	if err := w.start(o); err != nil {
		number, _ := err.(syscall.Errno)
		tell(Failed, int64(number))
		return
	}
	tell(Started)
	closeStreams()
	go w.obey(o)
	go w.hear()
	var usage syscall.Rusage
	status := w.await(&usage)
	tell(Exited, int64(status), usage.Utime.Nano(), usage.Stime.Nano())
	swept, left := End(w.hurry)
	tell(Ended, int64(swept), int64(left))
}

// ward is the child of a supervisor.
type ward struct {
	pid   int
	mu    sync.Mutex // guards gone: whoever holds it may signal pid if it is not gone
	gone  bool       // the child was collected
	once  sync.Once
	hurry chan struct{} // closed when nothing is to be waited for any more
}

func (w *ward) start(o Order) (err error) {
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); e != 0 {
		return e
	}
	if o.NoNewPrivs {
		if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); e != 0 {
			return e
		}
	}
	w.pid, err = syscall.ForkExec(o.Path, o.Argv, &syscall.ProcAttr{
		Env: syscall.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.Signal(o.DeathSignal)},
	})
	return err
}

// closeStreams lets go of the child's stdin, stdout and stderr: a pipe ends when the
// last one that holds it lets go.
func closeStreams() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil || syscall.Dup3(null, fd, 0) != nil {
			syscall.Close(fd)
		}
	}
	if err == nil {
		syscall.Close(null)
	}
}

// obey signals the child as it is told to, and ends it when nobody is there to
// tell any more.
func (w *ward) obey(o Order) {
	var order [2]byte
	for {
		n, err := syscall.Read(Control, order[:])
		if err == syscall.EINTR {
			continue
		}
		if n != len(order) {
			break
		}
		w.signal(syscall.Signal(order[0]), order[1] == 1)
	}
	if o.DeathSignal == 0 {
		o.DeathSignal = int(syscall.SIGTERM)
	}
	w.signal(syscall.Signal(o.DeathSignal), false)
	time.Sleep(grace)
	w.kill()
}

// hear ends everything at once when somebody else wants this process to end, such
// as a sweep for what a killed run has left.
func (w *ward) hear() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	<-c
	w.kill()
}

func (w *ward) kill() {
	w.once.Do(func() { close(w.hurry) })
	w.signal(syscall.SIGKILL, true)
}

// signal signals the child or its group. While the child is not collected, neither
// number can belong to another.
func (w *ward) signal(sig syscall.Signal, group bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return
	}
	pid := w.pid
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, sig) // what is gone already needs no signal
}

// await collects orphans until the child has exited, and then that one.
func (w *ward) await(usage *syscall.Rusage) (status syscall.WaitStatus) {
	for {
		pid, err := firstDead()
		if err == syscall.EINTR {
			continue
		}
		if pid != w.pid && err == nil {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			continue
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		_, _ = syscall.Wait4(w.pid, &status, 0, usage)
		w.gone = true
		return status
	}
}

// firstDead waits until some child has died, and leaves it as it is.
func firstDead() (int, error) {
	var info struct {
		_ [3]int32 // signal, error, code
		f struct {
			_   [0]uintptr // the kernel aligns what follows so
			pid int32
			_   [108]byte
		}
	}
	_, _, e := syscall.Syscall6(syscall.SYS_WAITID, waitAll, 0, uintptr(unsafe.Pointer(&info)), syscall.WEXITED|leaveZombie, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(info.f.pid), nil
}

// tell writes one message. Nobody may be there to read it.
func tell(word string, numbers ...int64) {
	var b strings.Builder
	b.WriteString(word)
	for _, n := range numbers {
		b.WriteString(" " + strconv.FormatInt(n, 10))
	}
	_, _ = syscall.Write(Control, []byte(b.String()))
}
