//go:build world

package shim_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Variables that make the test program a stand-in for the Go program.
const (
	reportVar = "SHIMTEST_REPORT" // the file that says how it was started
	actVar    = "SHIMTEST_ACT"    // "exit N", "die N" or "wait"
	waited    = 7                 // the exit code after a wait
)

func TestMain(m *testing.M) {
	if os.Getenv(reportVar) != "" {
		os.Exit(standIn())
	}
	os.Exit(m.Run())
}

// report is how a stand-in was started.
type report struct {
	Args        []string
	PID, Parent int
	Env         map[string]string
}

func standIn() int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	r := report{Args: os.Args, PID: os.Getpid(), Parent: os.Getppid(), Env: map[string]string{}}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		r.Env[name] = value
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	// Who sees the file sees all of it.
	path := os.Getenv(reportVar)
	if err := os.WriteFile(path+".part", data, 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".part", path); err != nil {
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

// awaitEnd returns the signal that came, or "EOF" when stdin, which the shim
// holds open, has ended.
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

// with returns the variables of both, the later ones winning.
func with(vars ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, v := range vars {
		maps.Copy(all, v)
	}
	return all
}
