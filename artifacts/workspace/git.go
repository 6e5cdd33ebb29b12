package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Git is the git program, and how it is run.
type Git struct {
	Path string // "" for git on PATH
	// Env is the environment of git, but for the variables that change what git works
	// on; nil for that of this process.
	Env   []string
	Limit int64 // how many bytes all bundles of a save may have; 0 for 256 MiB

	unreliable time.Duration // 0 for the constant of that name; tests can't wait for it
}

const defaultLimit = 256 << 20

// rawFactor is how much larger than the limit files may be before they are packed:
// text shrinks to a fourth and less.
const rawFactor = 4

func (g *Git) limit() int64 {
	if g.Limit > 0 {
		return g.Limit
	}
	return defaultLimit
}

// errNoGit says that there is no git program.
var errNoGit = errors.New("git is not installed")

// tool runs git.
type tool struct {
	path string
	env  []string
}

// open finds git. protocols are those that it may use, separated by colons.
func (g *Git) open(protocols string) (*tool, error) {
	path := g.Path
	if path == "" {
		path = "git"
	}
	path, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoGit, err)
	}
	base := g.Env
	if base == nil {
		base = os.Environ()
	}
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool { return !harmless(v) })
	return &tool{path, append(env, "GIT_ALLOW_PROTOCOL="+protocols,
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1",
		"GIT_AUTHOR_NAME=raymond", "GIT_AUTHOR_EMAIL=raymond@localhost",
		"GIT_COMMITTER_NAME=raymond", "GIT_COMMITTER_EMAIL=raymond@localhost",
		"LC_ALL=C", "LANGUAGE=", "SSH_ASKPASS=")}, nil
}

// harmless reports whether a variable changes neither what git works on nor what it
// runs.
func harmless(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	name = strings.ToUpper(name) // Windows has them in any case
	switch {
	case strings.HasPrefix(name, "GIT_SSL_"), name == "GIT_EXEC_PATH":
		return true
	case strings.HasPrefix(name, "GIT_"):
		return false
	}
	return !slices.Contains([]string{"LC_ALL", "LANGUAGE", "SSH_ASKPASS"}, name)
}

// setting is one of git's, for one command.
type setting struct{ key, value string }

// quiet are the settings that keep git from running what a repository names.
func quiet() []setting {
	return []setting{
		{"safe.directory", "*"}, {"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"},
		{"credential.helper", ""}, {"core.askPass", ""}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"},
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"submodule.recurse", "false"},
		{"core.pager", "cat"}, {"protocol.ext.allow", "never"}, {"core.quotePath", "false"},
	}
}

// call is one run of git.
type call struct {
	dir      string // the working directory
	bare     string // a repository to work on in place of the one around dir, by its own settings alone
	settings []setting
	in       func(io.Writer) error // writes what git reads; nil: nothing
	out      io.Writer             // nil: dropped
}

// text is input for git.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// failure is a git command that ended with an error.
type failure struct {
	command string
	stderr  string
	err     error
}

func (f *failure) Error() string {
	if f.stderr == "" {
		return "git " + f.command + ": " + f.err.Error()
	}
	return "git " + f.command + ": " + f.stderr
}

func (f *failure) Unwrap() error { return f.err }

// exited reports whether git itself ended with one of the codes.
func exited(err error, codes ...int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && slices.Contains(codes, exit.ExitCode())
}

// output runs git and returns what it prints.
func (t *tool) output(ctx context.Context, c call, args ...string) ([]byte, error) {
	var out bytes.Buffer
	c.out = &out
	err := t.run(ctx, c, args...)
	return out.Bytes(), err
}

// run runs git. The first argument is the command. An error of c.in or c.out is
// returned rather than what git makes of it.
func (t *tool) run(ctx context.Context, c call, args ...string) error {
	stderr := &tail{}
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.Stdout = c.dir, t.environ(c), stderr, c.out
	cmd.WaitDelay = 10 * time.Second
	err, inErr := feed(cmd, c.in)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case inErr != nil:
		return inErr
	case err != nil:
		return &failure{args[0], stderr.line(), err}
	}
	return nil
}

// feed runs a command with what in writes as its input.
func feed(cmd *exec.Cmd, in func(io.Writer) error) (err, inErr error) {
	if in == nil {
		return cmd.Run(), nil
	}
	r, w := io.Pipe()
	cmd.Stdin = r
	done := make(chan error, 1)
	go func() {
		err := in(w)
		done <- err
		w.CloseWithError(err)
	}()
	err = cmd.Run()
	r.Close() // of a command that did not read all: in is not left hanging
	if inErr = <-done; errors.Is(inErr, io.ErrClosedPipe) {
		inErr = nil
	}
	return err, inErr
}

func (t *tool) environ(c call) []string {
	env := slices.Clone(t.env)
	settings := slices.Concat(quiet(), c.settings)
	if c.bare != "" {
		env = append(env, "GIT_DIR="+c.bare, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	}
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
}

// tail keeps the end of what git says on its error output.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - 4096; over > 0 {
		t.data = slices.Delete(t.data, 0, over)
	}
	return len(p), nil
}

// line returns the line that says most: the fatal one, else the last.
func (t *tail) line() string {
	lines := strings.Split(strings.TrimSpace(string(t.data)), "\n")
	for _, l := range lines {
		if rest, ok := strings.CutPrefix(l, "fatal: "); ok {
			return rest
		}
	}
	return strings.TrimPrefix(lines[len(lines)-1], "error: ")
}

// quoted writes a path as git reads it from a line of text, whatever bytes it has.
func quoted(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(path) {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
			continue
		}
		b.WriteByte(c)
	}
	b.WriteByte('"')
	return b.String()
}
