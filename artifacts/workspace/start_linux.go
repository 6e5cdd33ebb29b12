package workspace

import (
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// maxData limits the memory of each git process in bytes. Mapped files don't count.
const maxData = 2 << 30

// start starts a program with a memory limit. The program can't gain privileges. If in is not nil, the program
// runs in the cage in.
func start(cmd *exec.Cmd, in *cage.Cage) (err error) {
	if in != nil {
		err = in.StartInside(cmd.Start)
	} else {
		// Linux applies the setting no_new_privs to a thread, so it is set on a new thread, which ends afterwards.
		started := make(chan error, 1)
		go func() {
			runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				started <- os.NewSyscallError("prctl PR_SET_NO_NEW_PRIVS", err)
				return
			}
			started <- cmd.Start()
		}()
		err = <-started
	}
	if err != nil {
		return err
	}
	// An error is ignored, because the process may have ended already.
	_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxData, Max: maxData}, nil)
	return nil
}
