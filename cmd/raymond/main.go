// Command raymond runs multi-step coding-agent workflows.
package main

import (
	"os"
	"runtime/debug"
)

// The heap may grow to five times the size of its live objects before the garbage collector runs. Above
// 40 MiB, the collector runs more often. With these settings, most runs never collect garbage, and a run
// with a lot of output still doesn't need much memory.
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
