// Command raymond runs multi-step coding-agent workflows.
package main

import (
	"os"
)

func main() {
	app := &App{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(app.Main())
}
