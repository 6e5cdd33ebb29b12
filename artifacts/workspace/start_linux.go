package workspace

import (
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// maxData bounds the memory of each process of git, in bytes. Files that are mapped
// don't count.
const maxData = 2 << 30

// start starts a program that can't gain privileges by what it runs, and whose memory
// is bounded, in a cage if there is one.
func start(cmd *exec.Cmd, in *cage.Cage) (err error) {
	if in != nil {
		err = in.StartInside(cmd.Start)
	} else {
		err = startBound(cmd)
	}
	if err != nil {
		return err
	}
	// It may have ended already.
	_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxData, Max: maxData}, nil)
	return nil
}

// startBound starts a program that can't gain privileges. The bit is one of the thread,
// which therefore ends here.
func startBound(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			started <- os.NewSyscallError("prctl PR_SET_NO_NEW_PRIVS", err)
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}
