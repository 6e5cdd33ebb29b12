//go:build linux && (amd64 || arm64)

package cage

import (
	"context"
	"os"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/cage/entry"
	"github.com/raymond-action/raymond-action/internal/cage/warden"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// Gaps returns the parts of a policy that this system can't enforce.
func Gaps(p Policy) []Gap { return currentKernel().gaps(p) }

// Entrance lets one child process enter a cage. The caller starts EntryProgram with Arguments as its
// arguments and with File as descriptor 3. Then it calls Admit.
type Entrance struct {
	plan            *entry.Plan
	rules           warden.Rules
	conn, childConn *os.File
	stopWarden      context.CancelFunc // stops the warden; nil before Admit
	// onEnd is Policy.OnEnd, which Close calls.
	onEnd func()
}

// EntryProgram is the program to start in place of the child's own program: raymond itself.
const EntryProgram = "/proc/self/exe"

// Enter prepares the entrance for a child that will execute the file at path. All processes in the cage will
// carry the mark, which must differ from the marks of all other children; see Mark. The caller must close the
// Entrance after the child and all processes that it left behind have ended.
func (c *Cage) Enter(path string, mark uint64) (*Entrance, error) {
	plan, err := c.plan(currentKernel(), path)
	if err != nil {
		return nil, err
	}
	plan.Mark = mark
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	return &Entrance{
		plan: plan, conn: os.NewFile(uintptr(pair[0]), "cage"), childConn: os.NewFile(uintptr(pair[1]), "cage"),
		rules: c.rules(mark), onEnd: c.policy.OnEnd,
	}, nil
}

// plan returns the restrictions that a child applies to itself before it executes the file at path.
func (c *Cage) plan(k kernel, path string) (*entry.Plan, error) {
	p := &entry.Plan{Path: []byte(path), FS: k.upTo(rightsFS), Scoped: k.upTo(scopes), IsTrusted: c.policy.IsTrusted}
	const mayRead = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSReadDir
	if p.FS != 0 {
		for _, path := range c.policy.readable() {
			p.Rules = append(p.Rules, entry.Rule{Path: []byte(path), Access: mayRead})
		}
		for _, path := range c.policy.writable() {
			p.Rules = append(p.Rules, entry.Rule{Path: []byte(path), Access: p.FS})
		}
	}
	if p.IsTrusted {
		p.Scoped = 0
		return p, nil
	}
	if !c.policy.Network.IsOpen {
		p.Net = k.upTo(rightsNet)
		if !k.hasWarden {
			p.Ports = c.policy.Network.Ports
		}
	}
	f, err := c.filters()
	p.Filter, p.Alone = f.withWarden, f.withoutWarden
	return p, err
}

// filters are the seccomp programs of a cage. They are nil if the kernel doesn't support seccomp.
type filters struct{ withWarden, withoutWarden []byte }

// makeFilters compiles the filters for an open or a restricted network.
func makeFilters(isOpen bool) (f filters, err error) {
	k := currentKernel()
	if !k.filters {
		return f, nil
	}
	o := filterOptions{isOpen: isOpen, isScoped: k.landlock >= withScopes, isTraced: k.landlock > 0}
	if !o.isScoped {
		o.protected = append(processes.Ancestors(), os.Getpid())
	}
	// Inside another cage, the outer cage's warden checks where unix sockets connect.
	o.hasUnix = k.hasWarden && MarkOf(os.Getpid()) != 0
	if f.withoutWarden, err = filter(o); err != nil {
		return f, err
	}
	o.hasWarden, o.hasUnix = k.hasWarden, k.hasWarden
	f.withWarden, err = filter(o)
	return f, err
}

// File returns the file that the child must inherit as descriptor 3.
func (e *Entrance) File() *os.File { return e.childConn }

// Arguments returns the arguments for EntryProgram. argv are the arguments of the child's own program,
// beginning with the program's name.
func (e *Entrance) Arguments(argv []string) []string { return entry.Arguments(argv) }

// Admit sends the plan to the started child and waits until the child has executed its program. If the child
// fails, the error is an *entry.Failure. If the child sends a seccomp listener, Admit starts a warden, which
// decides about system calls until all processes in the cage have ended.
func (e *Entrance) Admit() error {
	e.childConn.Close()
	sent := make(chan error, 1)
	go func() { sent <- entry.WritePlan(e.conn, e.plan) }()
	listener, err := entry.AwaitExec(e.conn)
	if writeErr := <-sent; err == nil {
		err = writeErr
	}
	if listener == nil {
		return err
	}
	var ctx context.Context
	ctx, e.stopWarden = context.WithCancel(context.Background())
	go warden.Serve(ctx, listener, e.rules)
	return err
}

// Close closes the sockets, stops the warden and calls Policy.OnEnd.
func (e *Entrance) Close() {
	e.conn.Close()
	e.childConn.Close()
	if e.stopWarden != nil {
		e.stopWarden()
	}
	if e.onEnd != nil {
		e.onEnd()
	}
}
