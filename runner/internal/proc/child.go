package proc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// child is a started process, with the ends of its pipes that this process uses. A goroutine serves each
// pipe.
type child struct {
	options Options
	process *process
	began   time.Time
	// activity is the time of the last output, in nanoseconds after began.
	activity atomic.Int64
	tail     Tail

	in *os.File // nil if stdin is the null device
	// fed is closed when Stdin has been written to the pipe in, or can't be written any more.
	fed      chan struct{}
	out, err *stream
}

// begin starts the child and the goroutines that serve its pipes.
func begin(s Options) (*child, error) {
	theirs, ours, err := openPipes(s)
	if err != nil {
		return nil, err
	}
	s.Ladder = cmp.Or(s.Ladder, DefaultLadder)
	c := &child{options: s, began: time.Now(), tail: Tail{Max: StderrTailSize}}
	c.process, err = s.start(theirs[:])
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, s.explain(err)
	}
	c.out = newStream(ours[1], c.options.Stdout, nil, c.recordOutput)
	c.err = newStream(ours[2], c.options.Stderr, &c.tail, c.recordOutput)
	c.in, c.fed = ours[0], make(chan struct{})
	go func() {
		defer close(c.fed)
		defer c.in.Close()
		_, _ = c.in.Write(c.options.Stdin) // fails if the child stops reading; the rest of Stdin is then dropped
	}()
	return c, nil
}

// start looks up the program and starts it.
func (s Options) start(files []*os.File) (*process, error) {
	cmd := exec.Command(s.Path, s.Args...)
	if cmd.Err == nil && runtime.GOOS == "windows" {
		cmd.Err = checkBatch(cmd.Path, s.Args)
	}
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	order := launch{options: s, path: cmd.Path, argv: cmd.Args, files: files, sys: s.attributes()}
	if s.Cage != nil {
		return s.startCaged(order)
	}
	return fork(order)
}

// ErrBatch is the reason why an argument can't be passed to a batch file.
var ErrBatch = errors.New("cmd.exe would interpret a part of it as a command")

// batchSyntax are the characters that cmd.exe interprets in the arguments of a batch file, even in
// quotes. With them, an agent could insert a command. Quotation marks are not included: alone they only
// delimit arguments, and agent CLIs need them for JSON and TOML.
const batchSyntax = "%!^&|<>"

// checkBatch returns an error if the program is a batch file and an argument can't be passed to it
// safely. Windows starts batch files with cmd.exe, which interprets the arguments. npm creates batch
// files for programs.
func checkBatch(path string, args []string) error {
	switch strings.ToLower(filepath.Ext(strings.TrimRight(path, ". "))) {
	case ".cmd", ".bat":
		for _, a := range args {
			if strings.ContainsAny(a, batchSyntax+"\r\n") {
				return fmt.Errorf("%s is a batch file, and can't get the argument %.200q: %w; leave out line breaks and %s, or name a program that is an .exe file",
					path, a, ErrBatch, strings.Join(strings.Split(batchSyntax, ""), " "))
			}
		}
	}
	return nil
}

// startCaged starts the program in the cage. The process first executes cage.EntryProgram, which enters
// the cage.
func (s Options) startCaged(order launch) (*process, error) {
	// EntryProgram resolves a relative path in the child's directory, as the system would without a cage.
	if !filepath.IsAbs(order.path) {
		order.path = filepath.Join(s.Dir, order.path)
	}
	in, err := s.Cage.Enter(order.path, cage.Mark(s.Mark))
	if err != nil {
		return nil, err
	}
	order.path, order.argv, order.caged = cage.EntryProgram, in.Arguments(order.argv), cage.Mark(s.Mark)
	order.files = append(slices.Clip(order.files), in.File())
	startSession(order.sys)
	k, err := fork(order)
	if err != nil {
		in.Close()
		return nil, err
	}
	k.leave = in.Close
	if err := in.Admit(); err != nil {
		k.signal(syscall.SIGKILL, true)
		k.await()
		k.finish(true)
		return nil, err
	}
	return k, nil
}

// launch contains everything that fork needs to start a process.
type launch struct {
	options Options
	path    string
	argv    []string
	files   []*os.File // the process's descriptors: stdin, stdout, stderr and possibly others
	sys     *syscall.SysProcAttr
	caged   uint64 // the cage's mark; 0 without a cage
}

// explain returns an error with the likely cause of err, which the system reported when it started the
// program. It recognizes that there are too many processes and that Options.Dir is not an existing
// directory.
func (s Options) explain(err error) error {
	if errors.Is(err, syscall.EAGAIN) {
		return fmt.Errorf("%w: the limit of processes is reached (ulimit -u, or the limit of the container)", err)
	}
	if s.Dir == "" {
		return err
	}
	info, statErr := os.Stat(s.Dir)
	if statErr != nil {
		return statErr
	}
	if !info.IsDir() {
		return &os.PathError{Op: "chdir", Path: s.Dir, Err: errors.New("not a directory")}
	}
	return err
}

// markEntry returns the mark as an entry of the environment, "VAR=value". It returns "" if there is no
// mark.
func (s Options) markEntry() string {
	if s.Mark == "" {
		return ""
	}
	return MarkVar + "=" + s.Mark
}

// environment returns Env and the mark. If Env contains several entries with the same name, only the
// last one is included, because bash and the C library would use different ones.
func (s Options) environment() []string {
	entries := append([]string{}, s.Env...)
	if mark := s.markEntry(); mark != "" {
		entries = append(entries, mark)
	}
	return (&exec.Cmd{Env: entries}).Environ()
}

// recordOutput records the time of the last output.
func (c *child) recordOutput() { c.activity.Store(int64(time.Since(c.began))) }

// sinceOutput returns the time since the last output or, if there was none, since the start.
func (c *child) sinceOutput() time.Duration {
	return time.Since(c.began) - time.Duration(c.activity.Load())
}
