package proc

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// hasTermSignals is false because no signal asks a process to exit: it can only be killed.
const hasTermSignals = false

// attributes starts the child suspended, so that it is in its job object before it can start other
// processes, and in a new process group, so that Ctrl-C doesn't reach it: only this process decides
// when it ends.
func (s Options) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		CmdLine: s.CommandLine, HideWindow: true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
}

// group is a job object. All descendants of the child are in it and can't leave it. The system ends
// them when this process ends for any reason.
type group windows.Handle

// groupOf puts a suspended child into a new job object and resumes it.
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
		err = p.WithHandle(func(child uintptr) { unfit = join(job, child) })
		err = errors.Join(err, unfit)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
	}
	return group(job), err
}

var ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// join puts a suspended process into a job object and resumes it. ResumeThread would need a handle of
// its thread, which Go doesn't keep.
func join(job windows.Handle, child uintptr) error {
	if err := windows.AssignProcessToJobObject(job, windows.Handle(child)); err != nil {
		return os.NewSyscallError("AssignProcessToJobObject", err)
	}
	if status, _, _ := ntResumeProcess.Call(child); status != 0 {
		return os.NewSyscallError("NtResumeProcess", windows.NTStatus(status))
	}
	return nil
}

func (g group) signal(syscall.Signal) error { return windows.TerminateJobObject(windows.Handle(g), 1) }

// killTimeout bounds the wait for processes that were terminated.
const killTimeout = 5 * time.Second

// end ends the remaining processes and returns when they have ended. It returns 0 instead of their
// number, because that would include processes of the system, like the host of a console.
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

func signalOf(*os.ProcessState) string { return "" }

// SignalNumber is always 0, because this system has no signals.
func (e Exit) SignalNumber() int { return 0 }

// hasReader is always true: the system doesn't report whether an output has a reader. Only a failed
// write shows it.
func hasReader(*os.File) bool { return true }
