// Command raymond runs multi-step coding-agent workflows.
package main

import (
	"os"
	"runtime/debug"
)

// The heap may grow to five times what lives in it before it is collected, but
// is collected more eagerly above 40 MiB: most runs never collect at all, and a
// flood of output stays small.
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
