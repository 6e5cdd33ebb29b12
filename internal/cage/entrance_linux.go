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

// Gaps returns what this system can't hold of a policy, and what that leaves open.
func Gaps(p Policy) []Gap { return running().lacks(p) }

// Entrance is the way of one child into a cage. Whoever starts the child gives it
// File as descriptor 3, starts Program with Arguments, and calls Follow.
type Entrance struct {
	plan         *entry.Plan
	rules        warden.Rules
	ours, theirs *os.File
	leave        context.CancelFunc // ends who decides; nil before Follow
	ended        func()
}

// EntryProgram is what is started in place of a child's own program: this one.
const EntryProgram = "/proc/self/exe"

// Enter prepares the way of a child whose program is the file path. Everything in
// the cage will carry the mark, which must be the child's alone; see Mark. The caller
// closes the Entrance when the child and all that it left are gone.
func (c *Cage) Enter(path string, mark uint64) (*Entrance, error) {
	plan, err := c.plan(running(), path)
	if err != nil {
		return nil, err
	}
	plan.Mark = mark
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	return &Entrance{
		plan: plan, ours: os.NewFile(uintptr(pair[0]), "cage"), theirs: os.NewFile(uintptr(pair[1]), "cage"),
		rules: c.rules(mark), ended: c.policy.OnEnd,
	}, nil
}

// plan says what a child puts on.
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
		if !k.isDecided {
			p.Ports = c.policy.Network.Ports
		}
	}
	f, err := c.filters()
	p.Filter, p.Alone = f.decided, f.alone
	return p, err
}

// filters are the programs of a cage for seccomp; nil where there is none.
type filters struct{ decided, alone []byte }

func makeFilters(isOpen bool) (f filters, err error) {
	k := running()
	if !k.filters {
		return f, nil
	}
	o := filterOptions{isOpen: isOpen, isScoped: k.landlock >= withScopes, isTraced: k.landlock > 0}
	if !o.isScoped {
		o.spared = append(processes.Ancestors(), os.Getpid())
	}
	// Who enters a cage inside another one has the other one's warden.
	o.hasUnix = k.isDecided && MarkOf(os.Getpid()) != 0
	if f.alone, err = filter(o); err != nil {
		return f, err
	}
	o.isDecided, o.hasUnix = k.isDecided, k.isDecided
	f.decided, err = filter(o)
	return f, err
}

// File is what the child is started with as descriptor 3.
func (e *Entrance) File() *os.File { return e.theirs }

// Arguments are what Program is started with, for a child with these arguments, the
// first of which is its name.
func (e *Entrance) Arguments(argv []string) []string { return entry.Arguments(argv) }

// Admit lets the child, which was started, go in, and returns when it has become its
// program, or couldn't: the error is an *entry.Failure then. From then on somebody
// decides about what the child does until all that is in the cage has ended.
func (e *Entrance) Admit() error {
	e.theirs.Close()
	sent := make(chan error, 1)
	go func() { sent <- entry.WritePlan(e.ours, e.plan) }()
	listener, err := entry.AwaitExec(e.ours)
	if writeErr := <-sent; err == nil {
		err = writeErr
	}
	if listener == nil {
		return err
	}
	var ctx context.Context
	ctx, e.leave = context.WithCancel(context.Background())
	go warden.Serve(ctx, listener, e.rules)
	return err
}

// Close ends what was begun for the child.
func (e *Entrance) Close() {
	e.ours.Close()
	e.theirs.Close()
	if e.leave != nil {
		e.leave()
	}
	if e.ended != nil {
		e.ended()
	}
}
