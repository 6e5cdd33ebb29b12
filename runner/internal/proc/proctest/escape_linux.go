// Package proctest attacks those who start processes: it leaves some behind. It is for
// tests.
package proctest

import (
	"fmt"
	"os"
	"strings"

	"github.com/raymond-action/raymond-action/runner/internal/proc/procfs"
)

// Escape returns shell commands that leave two daemons of this name. Each ignores
// signals, has forked twice and has an empty environment. One is in a session of its
// own, and the other in the process group of this process, if it can get there.
func Escape(name string) string {
	const stay = `$SIG{$_} = "IGNORE" for qw(TERM INT HUP); exit if fork; exit if fork; ` +
		`open STDIN, "</dev/null"; open STDOUT, ">/dev/null"; open STDERR, ">/dev/null"; ` +
		`exec "/bin/sh", "-c", "while :; do sleep 300; done", $ARGV[0]`
	return fmt.Sprintf("env -i setsid perl -e '%s' %s\nenv -i perl -e 'setpgrp(0, getpgrp(%d)); %s' %[2]s\nsleep 0.3\n",
		stay, name, os.Getpid(), stay)
}

// Alive returns the ids of the live processes that have a name among their arguments.
func Alive(name string) []int {
	var found []int
	for pid, p := range procfs.All() {
		if !p.Dying && pid != os.Getpid() && strings.Contains(procfs.CommandLine(pid), name) {
			found = append(found, pid)
		}
	}
	return found
}
