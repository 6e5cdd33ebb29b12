//go:build world

package shim_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const (
	// actVar is a variable that makes the test program a stand-in for the Go program. Its value selects
	// the behaviour of the stand-in: "exit N", "die N" (end by signal N) or "wait".
	actVar = "SHIMTEST_ACT"
	waited = 7 // the exit code of a stand-in that has waited
)

func TestMain(m *testing.M) {
	if os.Getenv(actVar) != "" {
		os.Exit(standIn())
	}
	os.Exit(m.Run())
}

// report describes how a stand-in was started. The stand-in prints it as its first line.
type report struct {
	Args        []string
	PID, Parent int
	Env         map[string]string
}

// standIn does what the Go program would do in a test, as actVar says, and returns the exit code.
func standIn() int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	r := report{Args: os.Args, PID: os.Getpid(), Parent: os.Getppid(), Env: map[string]string{}}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		r.Env[name] = value
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		panic(err)
	}
	verb, number, _ := strings.Cut(os.Getenv(actVar), " ")
	n, _ := strconv.Atoi(number)
	switch verb {
	case "exit":
		return n
	case "die":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Signal(syscall.Signal(n))
	}
	fmt.Println("got", awaitEnd(signals))
	return waited
}

// awaitEnd waits for a signal and returns its name. If the shim holds stdin open, it also waits for the
// end of stdin, and returns "EOF" then.
func awaitEnd(signals <-chan os.Signal) string {
	end := make(chan string, 2)
	go func() { end <- (<-signals).String() }()
	if os.Getenv("RAYMOND_SHIM_STDIN") == "1" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			end <- "EOF"
		}()
	}
	return <-end
}
