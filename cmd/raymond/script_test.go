package main

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// TestMain makes the test program act as raymond when a test script starts raymond.
func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"raymond": main}) }

// TestScripts runs the scripts in testdata/script, which check the behaviour that the command line
// promises. In the scripts, raymond is the program itself, and claude is the shell script
// testdata/claude.sh.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	assert.NilError(t, err)
	claude, err := os.ReadFile("testdata/claude.sh")
	assert.NilError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("STUB", e.WorkDir)
			e.Setenv("EXAMPLES", examples)
			e.Setenv("RAYMOND", filepath.SplitList(e.Getenv("PATH"))[0])
			e.Setenv("RAYMOND_CLAUDE", filepath.Join(e.WorkDir, "claude"))
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("LC_ALL", "C.UTF-8")
			installtest.WriteProgram(t, filepath.Join(e.WorkDir, "claude"), string(claude))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "json": cmdJSON, "log": cmdLog, "makezip": cmdMakeZip,
		},
	})
}

// cmdExits implements "exits CODE COMMAND": it runs a command and checks its exit code. If raymond fails,
// its stderr must contain one line for each error in the documented form.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got, err = exit.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("%q: got exit code %d, want %d", args[1:], got, want)
	}
	if args[1] != "raymond" || want == 0 {
		return
	}
	errorLines := 0
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !strings.HasPrefix(line, "raymond: ") || strings.HasPrefix(line, "raymond: warning: ") || strings.HasPrefix(line, "raymond: note: ") {
			continue
		}
		errorLines++
		m := errorLine.FindStringSubmatch(line)
		if m == nil {
			ts.Fatalf("error line: got %q, want raymond: CLASS: WHERE: WHAT; HINT", line)
		}
		if got := problem.ExitCodes[problem.Class(m[1])]; got != want {
			ts.Fatalf("class %q goes with exit code %d, got %d", m[1], got, want)
		}
	}
	if errorLines == 0 {
		ts.Fatalf("exit code %d: got no error on stderr, want one", want)
	}
}

var errorLine = regexp.MustCompile(`^raymond: (run_failed|usage|over_limit|conflict|bad_state|workflow|runtime|suspended|cancelled): \S.*: .`)

// cmdJSON implements "json FILE PATH": it prints the value at a path like agents[0].state. It prints
// nothing if the value does not exist.
func cmdJSON(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: json FILE PATH")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for _, key := range strings.FieldsFunc(args[1], func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			n, err := strconv.Atoi(key)
			if v = nil; err == nil && n < len(at) {
				v = at[n]
			}
		default:
			v = nil
		}
	}
	if v == nil {
		return
	}
	enc := json.NewEncoder(ts.Stdout())
	enc.SetEscapeHTML(false)
	ts.Check(enc.Encode(v))
}

// loggedFields are the fields of events that cmdLog prints, in this order. They have the same values in
// every run.
var loggedFields = []string{
	"kind", "attempt", "session", "ok", "tag", "target", "return", "next", "parent", "vars", "n", "backoff_ms",
	"which", "value", "max", "status", "outcome", "detail", "iterations", "result", "text", "for", "by",
}

// cmdLog implements "log FILE TYPE...": it prints the events in a log, one per line. If types are given,
// it prints only events of these types.
func cmdLog(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: log FILE [TYPE...]")
	}
	types := " " + strings.Join(args[1:], " ") + " "
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0])))
	for lines.Scan() {
		var e map[string]any
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			ts.Fatalf("%s: %q: %v", args[0], lines.Text(), err)
		}
		if len(args) == 1 || strings.Contains(types, " "+e["type"].(string)+" ") {
			// The line contains only the fields that are the same in every run.
			line := fmt.Sprintf("%v %v", e["seq"], e["type"])
			for _, name := range []string{"agent", "state"} {
				if v, ok := e[name]; ok {
					line += fmt.Sprintf(" %v", v)
				}
			}
			for _, name := range loggedFields {
				if v, ok := e[name]; ok {
					text, _ := json.Marshal(v)
					line += fmt.Sprintf(" %s=%s", name, strings.Trim(string(text), `"`))
				}
			}
			fmt.Fprintln(ts.Stdout(), line)
		}
	}
}

// cmdMakeZip implements "makezip ARCHIVE ENTRY...": it writes a zip archive. An entry is NAME=FILE, or
// NAME/ for a directory.
func cmdMakeZip(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := zip.NewWriter(f)
	for _, entry := range args[1:] {
		name, source, isFile := strings.Cut(entry, "=")
		out, err := w.Create(name)
		ts.Check(err)
		if isFile {
			_, err = io.WriteString(out, ts.ReadFile(source))
			ts.Check(err)
		}
	}
	ts.Check(errors.Join(w.Close(), f.Close()))
}
