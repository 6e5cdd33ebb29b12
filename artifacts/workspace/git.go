package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// Git is the git program, and how it is run.
type Git struct {
	// Path is the program, as Find found it before agents started; "" for git on PATH.
	Path string
	// Env is the environment of git, but for the variables that change what git works
	// on; nil for that of this process.
	Env   []string
	Limit int64 // how many bytes all bundles of a save may have; 0 for 256 MiB
	// Temp is an existing folder that agents can't write to, for what is needed
	// meanwhile; "" for that of the system.
	Temp string
	// Token is shown to the server at ServerURL ("https://github.com"), and to no
	// other, when commits have to be fetched; "" for none.
	Token, ServerURL string
	// TagsDir is a folder that agents can't write to, in which Base notes the tags that a checkout has before agents
	// make others; with "" all tags count as made by agents.
	TagsDir   string
	Workspace string // out of which no link leads; "" for none
	// OutsideDirs are folders outside of the worktrees that agents may write. Save notes work in repositories there.
	OutsideDirs []string
	// IsUncaged says that git runs in no cage. In one, which only Linux has, it can read and
	// write what it works on and Temp alone, and reaches no network but to fetch, which a git
	// in a repository of our own does.
	IsUncaged bool

	clock      atomic.Pointer[context.Context] // as SetClock set it; nil for none
	handed     int64                           // 0 for handLimit; tests can't write as much
	unreliable time.Duration                   // 0 for the constant of that name; tests can't wait for it
	within     time.Duration                   // 0 for commandWithin; tests can't wait for it
}

// SetContext gives all runs of git together the time of a context: each is killed when the context ends, and none starts
// afterwards.
func (g *Git) SetContext(ctx context.Context) { g.clock.Store(&ctx) }

const defaultLimit = 256 << 20

// rawFactor is how much larger than the limit files may be before they are packed:
// text shrinks to a fourth and less.
const rawFactor = 4

func (g *Git) limit() int64 {
	return cmp.Or(g.Limit, defaultLimit)
}

// ErrNoGit says that there is no git program.
var ErrNoGit = errors.New("git is not installed")

// ErrSlow says that a run of git took too long.
var ErrSlow = errors.New("took more than")

// commandWithin is how long one run of git may take: what agents wrote may have it wait
// for ever.
const commandWithin = 5 * time.Minute

// tool runs git, for one operation of this package.
type tool struct {
	of    *Git
	path  string
	env   []string
	temp  string   // a folder of our own
	caged bool     // it runs in a cage
	reads []string // what every run of git may read: the machine's files and the program's

	settingsFiles []string // of the user and the machine
	machine       []setting
	homes         map[string]*home  // by the repository's own folder
	places        map[string]*place // by directory
	own           map[string]bool   // repositories that were made here
	tops          []string          // top folders of the worktrees in a save
}

// open finds git. The tool has to be closed.
func (g *Git) open() (*tool, error) {
	path, err := exec.LookPath(cmp.Or(g.Path, "git"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoGit, err)
	}
	base := g.Env
	if base == nil {
		base = os.Environ()
	}
	temp, err := os.MkdirTemp(g.Temp, "raymond-git-")
	if err != nil {
		return nil, err
	}
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		return nil, err
	}
	all := append(cage.SystemPaths(), "/etc/resolv.conf", Getenv(base, "GIT_EXEC_PATH"))
	for _, path := range []string{path, resolved(path)} {
		dir := filepath.Dir(path)
		all = append(all, dir)
		if filepath.Base(dir) == "bin" {
			for _, name := range []string{"lib", "libexec", "share"} {
				all = append(all, filepath.Join(filepath.Dir(dir), name))
			}
		}
	}
	t := &tool{of: g, path: path, temp: temp, caged: !g.IsUncaged && cage.EntryProgram != "", reads: all, settingsFiles: SettingsFiles(base),
		homes: map[string]*home{}, places: map[string]*place{}, own: map[string]bool{}}
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool { return !harmless(v) })
	folders := []string{filepath.Dir(path)}
	for _, dir := range filepath.SplitList(Getenv(base, "PATH")) {
		if filepath.IsAbs(dir) && !canReplace(dir) {
			folders = append(folders, dir)
		}
	}
	if runtime.GOOS != "windows" {
		folders = append(folders, "/usr/bin", "/bin")
	}
	t.env = append(env, "GIT_ALLOW_PROTOCOL=none", "HOME="+os.DevNull, "XDG_CONFIG_HOME="+os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_GRAFT_FILE="+os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1",
		"GIT_AUTHOR_NAME=raymond", "GIT_AUTHOR_EMAIL=raymond@localhost",
		"GIT_COMMITTER_NAME=raymond", "GIT_COMMITTER_EMAIL=raymond@localhost",
		// Not the user's settings: they can name programs.
		"GIT_SSH_COMMAND=ssh -F none -o BatchMode=yes", "GIT_SSH_VARIANT=ssh",
		"LC_ALL=C", "LANGUAGE=", "SSH_ASKPASS=", "PATH="+strings.Join(folders, string(filepath.ListSeparator)))
	return t, nil
}

// close removes what the tool has made for itself.
func (t *tool) close() { os.RemoveAll(t.temp) }

// call is one run of git.
type call struct {
	dir      string // the working directory
	bare     string // a repository to work on in place of the one around dir
	alone    bool   // it works on no repository
	remote   string // the address that it fetches from; "": it reaches no network
	settings []setting
	env      []string  // variables that it gets besides
	in       io.Reader // what git reads; nil: nothing
	out      io.Writer // nil: dropped
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

// maxOutput bounds what git prints for us to keep, in bytes.
const maxOutput = 512 << 20

// output runs git and returns what it prints.
func (t *tool) output(ctx context.Context, c call, args ...string) ([]byte, error) {
	var out bytes.Buffer
	c.out = &bounded{w: &out, left: maxOutput}
	err := t.run(ctx, c, args...)
	return out.Bytes(), err
}

// id returns the id of an object that has a name.
func (t *tool) id(ctx context.Context, c call, name string) (string, error) {
	out, err := t.output(ctx, c, "rev-parse", "--quiet", "--verify", name)
	return strings.TrimSpace(string(out)), err
}

// objects returns for each of some objects, by their ids or names, the line that git cat-file
// says of it in a format.
func (t *tool) objects(ctx context.Context, c call, format string, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	c.in = strings.NewReader(lines(names...))
	out, err := t.output(ctx, c, "cat-file", "--batch-check="+format)
	all := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err == nil && len(all) != len(names) {
		err = errors.New("git cat-file says too little")
	}
	return all, err
}

// run runs git. The first argument is the command. Git ends with the context, and after
// a time of its own.
func (t *tool) run(ctx context.Context, c call, args ...string) error {
	within := cmp.Or(t.of.within, commandWithin)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("git %s %w %v", args[0], ErrSlow, within))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if clock := t.of.clock.Load(); clock != nil {
		if (*clock).Err() != nil {
			return context.Cause(*clock)
		}
		defer context.AfterFunc(*clock, func() { stop(context.Cause(*clock)) })()
	}
	env, err := t.environ(ctx, c)
	if err != nil {
		return err
	}
	stderr := &tail{}
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, env, c.in, c.out, stderr
	cmd.WaitDelay = 10 * time.Second
	group(cmd)
	err = processes.Start(func() (*os.Process, error) {
		err := start(cmd, t.cageFor(c))
		return cmd.Process, err
	})
	if err == nil {
		err = cmd.Wait()
		processes.Forget(cmd.Process)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return &failure{args[0], stderr.line(), err}
	}
	return nil
}

// piped runs git, and has read take what it prints. An error of read is returned rather than
// what git makes of it; errFull says that it has enough.
func (t *tool) piped(ctx context.Context, c call, read func(io.Reader) error, args ...string) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := read(r)
		r.CloseWithError(cmp.Or(err, errFull)) // git is not left writing to a reader that has enough
		done <- err
	}()
	c.out = w
	err := t.run(ctx, c, args...)
	w.CloseWithError(cmp.Or(err, io.EOF))
	readErr := <-done
	switch {
	case ctx.Err() != nil || readErr == nil:
		return cmp.Or(err, readErr)
	case errors.Is(readErr, errFull):
		return nil
	}
	return readErr
}

// environ is the environment for a call. Only repositories that were made here are
// shown to git as they are.
func (t *tool) environ(ctx context.Context, c call) ([]string, error) {
	env, settings := slices.Clone(t.env), []setting{
		{"core.excludesFile", os.DevNull}, {"core.attributesFile", os.DevNull}, {"pack.windowMemory", "256m"},
		{"pack.useSparse", "false"}, // sparse compares by path, and a save has other paths than the checkout
		{"safe.directory", "*"}, {"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"},
		{"credential.helper", ""}, {"core.askPass", ""}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"},
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"submodule.recurse", "false"},
		{"core.pager", "cat"}, {"protocol.ext.allow", "never"}, {"core.quotePath", "false"},
	}
	switch {
	case c.alone:
		env = append(env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(resolved(c.dir)))
	case t.own[c.bare]:
		env = append(env, "GIT_DIR="+c.bare)
	case c.bare != "":
		h, err := t.home(ctx, c.bare)
		if err != nil {
			return nil, err
		}
		env, settings = append(env, h.environ(h.dir, "")...), slices.Concat(settings, h.settings)
	default:
		p, err := t.worktree(ctx, c.dir)
		if err != nil {
			return nil, err
		}
		env = append(env, p.home.environ(p.gitDir, p.top)...)
		settings = slices.Concat(settings, p.home.settings, p.settings)
	}
	settings = append(settings, c.settings...)
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	if c.remote != "" {
		env = append(env, "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file")
	}
	return slices.Concat(env, []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}, c.env), nil
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
