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

// child is a started process with our ends of its pipes, each served by a goroutine.
type child struct {
	options  Options
	kin      *kin
	began    time.Time
	activity atomic.Int64 // when there was output last, in nanoseconds after began
	tail     Tail

	in       *os.File      // nil: the null device
	fed      chan struct{} // closed when all that can be is written to in
	out, err *stream
}

// begin starts the child, and the goroutines that serve it.
func begin(s Options) (*child, error) {
	theirs, ours, err := openPipes(s)
	if err != nil {
		return nil, err
	}
	s.Ladder = cmp.Or(s.Ladder, DefaultLadder)
	c := &child{options: s, began: time.Now(), tail: Tail{Max: StderrTailSize}}
	c.kin, err = s.launch(theirs[:])
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, s.explain(err)
	}
	c.out = newStream(ours[1], c.options.Stdout, nil, c.touch)
	c.err = newStream(ours[2], c.options.Stderr, &c.tail, c.touch)
	c.in, c.fed = ours[0], make(chan struct{})
	go func() {
		defer close(c.fed)
		defer c.in.Close()
		_, _ = c.in.Write(c.options.Stdin) // a child that stops reading has read what it wanted
	}()
	return c, nil
}

// launch looks the program up and starts it.
func (s Options) launch(files []*os.File) (*kin, error) {
	cmd := exec.Command(s.Path, s.Args...)
	if cmd.Err == nil && runtime.GOOS == "windows" {
		cmd.Err = checkBatch(cmd.Path, s.Args)
	}
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	order := start{options: s, path: cmd.Path, argv: cmd.Args, files: files, sys: s.attributes()}
	if s.Cage != nil {
		return s.launchCaged(order)
	}
	return fork(order)
}

// ErrBatch says that a batch file can't get an argument.
var ErrBatch = errors.New("cmd.exe would take a part of it for a command")

// batchSyntax is what cmd.exe obeys in the arguments of a batch file, in quotes or not. Quotes
// are not among it: without one of these they begin and end nothing but arguments, and agent
// CLIs get JSON and TOML in theirs.
const batchSyntax = "%!^&|<>"

// checkBatch refuses arguments that a batch file, as npm makes one for each program, can't
// be given: Windows starts it with cmd.exe, which reads them as its own language.
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

// launchCaged starts the program through the cage's entrance.
func (s Options) launchCaged(order start) (*kin, error) {
	if !filepath.IsAbs(order.path) { // the entrance looks it up from the child's directory, as the system would
		order.path = filepath.Join(s.Dir, order.path)
	}
	in, err := s.Cage.Enter(order.path, cage.Mark(s.Mark))
	if err != nil {
		return nil, err
	}
	order.path, order.argv, order.caged = cage.EntryProgram, in.Arguments(order.argv), cage.Mark(s.Mark)
	order.files = append(slices.Clip(order.files), in.File())
	confine(order.sys)
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

// start is one order to start a process.
type start struct {
	options Options
	path    string
	argv    []string
	files   []*os.File // stdin, stdout, stderr and what else the process inherits
	sys     *syscall.SysProcAttr
	caged   uint64 // mark of the cage, 0 without one
}

// explain says what an error means that the operating system reports as one of the program: the
// directory is missing, or there are too many processes.
func (s Options) explain(err error) error {
	if errors.Is(err, syscall.EAGAIN) {
		return fmt.Errorf("%w: there is room for no other process (ulimit -u, or the limit of the container)", err)
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

// markEntry is "VAR=value", "" without a mark.
func (s Options) markEntry() string {
	if s.Mark == "" {
		return ""
	}
	return MarkVar + "=" + s.Mark
}

// environment returns Env with the mark, each name once. An environment with a
// name twice means one thing to bash and another to the C library.
func (s Options) environment() []string {
	entries := append([]string{}, s.Env...)
	if mark := s.markEntry(); mark != "" {
		entries = append(entries, mark)
	}
	return (&exec.Cmd{Env: entries}).Environ()
}

// touch notes that there was output.
func (c *child) touch() { c.activity.Store(int64(time.Since(c.began))) }

// silence is how long there was no output.
func (c *child) silence() time.Duration {
	return time.Since(c.began) - time.Duration(c.activity.Load())
}
