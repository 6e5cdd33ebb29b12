package proc

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// asks says that no signal asks another process to end: it is killed.
const asks = false

// attributes starts the child suspended, so that it is in its group before it can start
// anything, and where Ctrl-C doesn't reach it: what is to end is ended by this process.
func (s Options) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		CmdLine: s.CommandLine, HideWindow: true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
}

// group is a job object: all that the child starts is in it, and can't leave. The system
// ends what is in it when this process is gone, however it ended.
type group windows.Handle

// groupOf puts a suspended child into a group of its own, and lets it run.
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

// join puts a suspended process into a job and lets it run. Go keeps no handle of its
// thread, which ResumeThread asks for.
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

// dying bounds the wait for processes that were ended.
const dying = 5 * time.Second

// end ends what is left and returns when it is gone. How many processes that were is not
// told: the system's own, as that of a console, would be among them.
func (g group) end() int {
	_ = g.signal(syscall.SIGKILL)
	for began := time.Now(); g.active() > 0 && time.Since(began) < dying; {
		time.Sleep(10 * time.Millisecond)
	}
	_ = windows.CloseHandle(windows.Handle(g))
	return 0
}

// active is how many processes there are in the group.
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

// SignalNumber is always 0: there are no signals.
func (e Exit) SignalNumber() int { return 0 }

// hasReader is always true: the system doesn't tell whether an output has a reader. A failed
// write does.
func hasReader(*os.File) bool { return true }
