package main

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestScripts states what the command line promises, a file of testdata/script
// for each part of it. raymond there is the program itself; claude is the shell
// script testdata/claude.sh.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(sitetest.Raymond.Path(t))
	claude, err := os.ReadFile("testdata/claude.sh")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("STUB", e.WorkDir)
			e.Setenv("RAYMOND_CLAUDE", filepath.Join(e.WorkDir, "claude"))
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("LC_ALL", "C.UTF-8")
			e.Values[remembered{}] = map[string]sight{}
			// A process that is started meanwhile would inherit the file, which can't be run then.
			syscall.ForkLock.RLock()
			defer syscall.ForkLock.RUnlock()
			return os.WriteFile(filepath.Join(e.WorkDir, "claude"), claude, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "remember": cmdRemember, "untouched": cmdUntouched, "change": cmdChange,
			"json": cmdJSON, "log": cmdLog, "makezip": cmdMakeZip,
		},
	})
}

// cmdExits runs a command that ends with the given code. The stderr of raymond
// then has one line for each error, in the documented form.
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
	if args[1] == "raymond" && want != 0 {
		checkErrorLines(ts, want)
	}
}

var errorLine = regexp.MustCompile(`^raymond: (run_failed|usage|over_limit|conflict|bad_state|workflow|runtime|suspended|cancelled): \S.*: .`)

// checkErrorLines checks the last lines that raymond wrote to stderr.
func checkErrorLines(ts *testscript.TestScript, code int) {
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
		if got := problem.ExitCodes[problem.Class(m[1])]; got != code {
			ts.Fatalf("class %q goes with exit code %d, got %d", m[1], got, code)
		}
	}
	if errorLines == 0 {
		ts.Fatalf("exit code %d: got no error on stderr, want one", code)
	}
}

// remembered is the key of the files that a script remembers.
type remembered struct{}

// sight is all that must not change of a file.
type sight struct {
	mode    fs.FileMode
	changed string
	data    string
}

func look(ts *testscript.TestScript, name string) sight {
	path := ts.MkAbs(name)
	info, err := os.Lstat(path)
	ts.Check(err)
	s := sight{mode: info.Mode(), changed: info.ModTime().String()}
	if info.Mode().IsRegular() {
		data, err := os.ReadFile(path)
		ts.Check(err)
		s.data = string(data)
	}
	return s
}

func cmdRemember(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		ts.Value(remembered{}).(map[string]sight)[name] = look(ts, name)
	}
}

// cmdUntouched checks bytes, mode and time of the files that were remembered.
func cmdUntouched(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		want, ok := ts.Value(remembered{}).(map[string]sight)[name]
		if got := look(ts, name); !ok || got != want {
			ts.Fatalf("%s: got %v, want %v", name, got, want)
		}
	}
}

// cmdChange replaces the one place in a file that has a text.
func cmdChange(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: change FILE OLD NEW")
	}
	data := ts.ReadFile(args[0])
	if n := strings.Count(data, args[1]); n != 1 {
		ts.Fatalf("%s: got %q %d times, want it once", args[0], args[1], n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(data, args[1], args[2], 1)), 0o600))
}

// cmdJSON prints the value at a path such as agents[0].state; nothing when there
// is none.
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

// told are the fields of events that do not differ from run to run, in the order
// in which cmdLog shows them.
var told = []string{
	"kind", "attempt", "session", "ok", "tag", "target", "return", "next", "parent", "vars", "n", "backoff_ms",
	"which", "value", "max", "status", "outcome", "detail", "iterations", "result", "text", "for", "by",
}

// cmdLog prints the events of a log, a line each; with further arguments only
// those of these types.
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
			fmt.Fprintln(ts.Stdout(), eventLine(e))
		}
	}
}

func eventLine(e map[string]any) string {
	line := fmt.Sprintf("%v %v", e["seq"], e["type"])
	for _, name := range []string{"agent", "state"} {
		if v, ok := e[name]; ok {
			line += fmt.Sprintf(" %v", v)
		}
	}
	for _, name := range told {
		if v, ok := e[name]; ok {
			text, _ := json.Marshal(v)
			line += fmt.Sprintf(" %s=%s", name, strings.Trim(string(text), `"`))
		}
	}
	return line
}

// cmdMakeZip writes an archive of the entries NAME=FILE. Before the name may
// stand link: (FILE is the target of a symbolic link) or locked: (the entry says
// that it is encrypted); a FILE of zeros:N stands for N zero bytes.
func cmdMakeZip(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := zip.NewWriter(f)
	for _, entry := range args[1:] {
		name, source, _ := strings.Cut(entry, "=")
		addEntry(ts, w, name, source)
	}
	ts.Check(errors.Join(w.Close(), f.Close()))
}

func addEntry(ts *testscript.TestScript, w *zip.Writer, name, source string) {
	header := &zip.FileHeader{Method: zip.Deflate}
	header.SetMode(0o644)
	var data io.Reader
	if link, ok := strings.CutPrefix(name, "link:"); ok {
		name, data = link, strings.NewReader(source)
		header.SetMode(fs.ModeSymlink | 0o777)
	}
	if locked, ok := strings.CutPrefix(name, "locked:"); ok {
		name = locked
		header.Flags |= 1
	}
	if zeros, ok := strings.CutPrefix(source, "zeros:"); ok && data == nil {
		n, err := strconv.ParseInt(zeros, 10, 64)
		ts.Check(err)
		data = io.LimitReader(nothing{}, n)
	}
	if data == nil && !strings.HasSuffix(name, "/") {
		data = strings.NewReader(ts.ReadFile(source))
	}
	header.Name = name
	out, err := w.CreateHeader(header)
	ts.Check(err)
	if data != nil {
		_, err = io.Copy(out, data)
		ts.Check(err)
	}
}

// nothing is an endless file of zero bytes.
type nothing struct{}

func (nothing) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
