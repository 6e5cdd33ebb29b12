// Command raymond runs multi-step coding-agent workflows.
package main

import (
	"os"
	"runtime/debug"
)

// Between collections, the heap may grow to five times the size of its live objects. Above 40 MiB it is collected more
// eagerly. So most runs never collect, and a lot of output doesn't need much memory.
const (
	heapGrowth = 400
	heapLimit  = 40 << 20
)

func main() {
	debug.SetGCPercent(heapGrowth)
	debug.SetMemoryLimit(heapLimit)
	app := &App{Args: os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(app.Main())
}
