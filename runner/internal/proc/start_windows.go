package proc

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// hasTermSignals is false because this system can't ask a process to exit. It can only kill it.
const hasTermSignals = false

// attributes returns the attributes of a child. The child starts suspended, so that it belongs to its
// job object before it can start other processes. It gets a new process group, so that Ctrl-C doesn't
// reach it and only this process decides when it ends.
func (s Options) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		CmdLine: s.CommandLine, HideWindow: true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
}

// group is a job object. It contains the child and all its descendants, which can't leave it. The system
// ends these processes when this process ends for any reason.
type group windows.Handle

// groupOf puts a suspended child into a new job object and resumes the child.
func groupOf(p *os.Process) (group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, os.NewSyscallError("CreateJobObject", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var unfit error
		err = p.WithHandle(func(child uintptr) {
			unfit = os.NewSyscallError("AssignProcessToJobObject", windows.AssignProcessToJobObject(job, windows.Handle(child)))
			if unfit != nil {
				return
			}
			// ResumeThread would need a handle of the process's thread, which Go doesn't keep.
			if status, _, _ := ntResumeProcess.Call(child); status != 0 {
				unfit = os.NewSyscallError("NtResumeProcess", windows.NTStatus(status))
			}
		})
		err = errors.Join(err, unfit)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
	}
	return group(job), err
}

var ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// signal kills all processes in the group, whatever the signal is.
func (g group) signal(syscall.Signal) error { return windows.TerminateJobObject(windows.Handle(g), 1) }

// killTimeout is how long end waits for processes that were terminated.
const killTimeout = 5 * time.Second

// end kills the remaining processes in the group and waits until they have ended. It returns 0 instead
// of their number, because that would include processes of the system, such as the host of a console.
func (g group) end() int {
	_ = g.signal(syscall.SIGKILL)
	for began := time.Now(); g.active() > 0 && time.Since(began) < killTimeout; {
		time.Sleep(10 * time.Millisecond)
	}
	_ = windows.CloseHandle(windows.Handle(g))
	return 0
}

// active returns the number of processes in the group.
func (g group) active() uint32 {
	var info struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		userTime, kernelTime, periodUserTime, periodKernelTime int64
		faults, total, active, terminated                      uint32
	}
	err := windows.QueryInformationJobObject(windows.Handle(g), windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0
	}
	return info.active
}

// signalOf returns "", because this system has no signals.
func signalOf(*os.ProcessState) string { return "" }

// SignalNumber returns 0, because this system has no signals.
func (e Exit) SignalNumber() int { return 0 }

// hasReader returns true, because this system doesn't report whether an output has a reader. Only a write
// that fails shows that there is none.
func hasReader(*os.File) bool { return true }
