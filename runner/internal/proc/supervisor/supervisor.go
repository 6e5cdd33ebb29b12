// Package supervisor is what stands between this program and a child on Linux: a
// process of its own that inherits every orphan of the child and ends only when all
// of them have ended.
//
// The program that imports this package becomes a supervisor when its first argument
// is Argument, before anything else of it is initialised. The package therefore
// depends on next to nothing.
//
// Descent can't be taken off as a process group, a session or an environment can:
// the kernel gives an orphan to the nearest ancestor that has asked for orphans. A
// supervisor that says it is done has no children left, by the kernel's own account,
// and so no descendants.
package supervisor

import "strconv"

// Argument is the first argument of a supervisor. Order.Args follow.
const Argument = "--supervise-child"

// Control is the file descriptor of a supervisor's end of the control socket.
//
// On it the supervisor gets messages of two bytes, the number of a signal and whether
// the child's whole process group is to have it (1) or the child alone (0). When the
// other end is closed, which is when the one that started it has died, the
// supervisor ends the child and everything below it.
const Control = 3

// Order says how a child is started.
type Order struct {
	Path string   // of the program, with a separator
	Argv []string // with argv[0]
	// DeathSignal is what the child gets when the one that ordered it dies, 0 for
	// SIGTERM. It is ended by force ends after Grace.
	DeathSignal int
	NoNewPrivs  bool // the child and what it starts can't gain privileges
}

// Args returns the arguments of a supervisor with this order, without argv[0].
func (o Order) Args() []string {
	bound := "0"
	if o.NoNewPrivs {
		bound = "1"
	}
	return append([]string{Argument, strconv.Itoa(o.DeathSignal), bound, o.Path}, o.Argv...)
}

// Is says whether a process with these arguments says that it is a supervisor.
func Is(argv []string) bool { return len(argv) > 1 && argv[1] == Argument }

// The messages of a supervisor, each of which begins with one of these words and
// goes on with numbers.
const (
	Started = "started" // nothing more
	Failed  = "failed"  // the error number of the start; nothing follows
	Exited  = "exited"  // of the child: the wait status, user and system time in nanoseconds
	Ended   = "ended"   // how many processes that the child had left were ended, how many could not be
)
