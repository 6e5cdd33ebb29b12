package claudetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"testing"
)

// Stub is a stand-in for the CLI that does what the real one cannot be made to
// do. It is the test binary itself: TestMain must call PlayStub first.
type Stub struct {
	Version string // "" for a current one
	Acts    []Act  // in order; then it exits with 0
}

// Act is one thing that a stub does. Exactly one field is set. In Line and
// Long "{{session}}" is the id that the stub was started with, and "{{fill}}"
// is what Long repeats.
type Act struct {
	Line   string `json:",omitempty"` // to stdout, with a line break
	Raw    string `json:",omitempty"` // to stdout as it is
	Stderr string `json:",omitempty"`
	Flood  *Fill  `json:",omitempty"` // lines until Bytes are written
	Long   *Fill  `json:",omitempty"` // one line of Bytes
	Nest   int    `json:",omitempty"` // one line of arrays, that deep
	Exit   *int   `json:",omitempty"`
	// Hang waits until a signal ends the stub.
	Hang bool `json:",omitempty"`
	// Deaf makes the stub ignore SIGINT from here on.
	Deaf bool `json:",omitempty"`
	// Touch creates a file, so that a test knows how far the stub is.
	Touch string `json:",omitempty"`
}

// Fill is a line of which a lot is written.
type Fill struct {
	Line  string
	Bytes int
}

// Line is an act that prints one line.
func Line(s string) Act { return Act{Line: s} }

// Exit is an act that ends the stub with a code.
func Exit(code int) Act { return Act{Exit: &code} }

// Init is an act that prints the first line of a healthy stream.
func Init() Act {
	return Line(`{"type":"system","subtype":"init","session_id":"{{session}}","model":"stub"}`)
}

// Says is an act that prints an assistant's text.
func Says(text string) Act {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return Line(`{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m1","model":"stub",` +
		`"content":[{"type":"text","text":` + string(quoted) + `}]}}`)
}

// Done is an act that prints a good result of ten cents.
func Done() Act {
	return Line(`{"type":"result","subtype":"success","is_error":false,"result":"","stop_reason":"end_turn",` +
		`"num_turns":1,"session_id":"{{session}}","total_cost_usd":0.1}`)
}

const stubVar = "CLAUDETEST_STUB"

// Start returns the program and the whole environment that play the stub.
func (s Stub) Start(t testing.TB) (path string, env []string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return path, []string{
		stubVar + "=" + string(script), "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"),
		// A binary built with -race waits a second at its end by default.
		"GORACE=atexit_sleep_ms=0",
	}
}

// PlayStub returns at once unless this process was started as a stub, which it
// then is to the end.
func PlayStub() {
	script, ok := os.LookupEnv(stubVar)
	if !ok {
		return
	}
	var s Stub
	if err := json.Unmarshal([]byte(script), &s); err != nil {
		panic(err)
	}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(s.version())
		os.Exit(0)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		panic(err)
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for _, a := range s.Acts {
		a.play(out)
		if err := out.Flush(); err != nil {
			os.Exit(3)
		}
	}
	os.Exit(0)
}

func (s Stub) version() string {
	if s.Version != "" {
		return s.Version
	}
	return "2.1.330 (Claude Code)"
}

func (a Act) play(out *bufio.Writer) {
	switch {
	case a.Line != "":
		out.WriteString(fillIn(a.Line) + "\n")
	case a.Raw != "":
		out.WriteString(a.Raw)
	case a.Stderr != "":
		io.WriteString(os.Stderr, a.Stderr)
	case a.Flood != nil:
		a.Flood.lines(out)
	case a.Long != nil:
		a.Long.long(out)
	case a.Nest > 0:
		out.WriteString(strings.Repeat("[", a.Nest) + strings.Repeat("]", a.Nest) + "\n")
	case a.Exit != nil:
		out.Flush()
		os.Exit(*a.Exit)
	case a.Hang:
		out.Flush()
		hang()
	case a.Deaf:
		signal.Ignore(os.Interrupt)
	case a.Touch != "":
		touch(a.Touch)
	}
}

func (f *Fill) lines(out *bufio.Writer) {
	line := fillIn(f.Line) + "\n"
	for n := 0; n < f.Bytes; n += len(line) {
		out.WriteString(line)
	}
}

func (f *Fill) long(out *bufio.Writer) {
	head, tail, _ := strings.Cut(fillIn(f.Line), "{{fill}}")
	out.WriteString(head)
	chunk := strings.Repeat("x", 1<<16)
	for n := 0; n < f.Bytes; n += len(chunk) {
		out.WriteString(chunk)
	}
	out.WriteString(tail + "\n")
}

// hang blocks for good. The open pipe keeps the runtime from calling it a
// deadlock.
func hang() {
	r, _, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	_, err = r.Read(make([]byte, 1))
	panic(err)
}

func touch(path string) {
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		panic(err)
	}
}

func fillIn(s string) string { return strings.ReplaceAll(s, "{{session}}", session()) }

// session is the id that the arguments give, the new one of a branch.
func session() string {
	id := ""
	for i, a := range os.Args[:len(os.Args)-1] {
		if a == "--session-id" || (a == "--resume" && id == "") {
			id = os.Args[i+1]
		}
	}
	return id
}
