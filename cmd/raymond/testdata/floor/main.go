// Command floor does the least that any Go program would have to do that runs a
// workflow of one script and loses nothing: it saves a file durably, starts bash
// with the script, and reads what it says. BenchmarkStartUp compares raymond with it.
package main

import (
	"fmt"
	"os"
	"os/exec"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	f, err := os.Create("state")
	if err != nil {
		return err
	}
	if _, err := f.WriteString("{}\n"); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	out, err := exec.Command("/bin/bash", "wf/START.sh").Output()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(out)
	return err
}
