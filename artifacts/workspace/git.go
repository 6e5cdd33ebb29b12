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

// Git has the settings for running git.
type Git struct {
	// Path is the git program that Find returned before agents started; "" for git on PATH.
	Path string
	// Env is the environment of git. Variables that would change what git works on are removed. nil means
	// the environment of this process.
	Env   []string
	Limit int64 // maximum bytes of all bundles of a save; 0 for 256 MiB
	// Temp is an existing directory for temporary files that agents can't write to; "" for the system's.
	Temp string
	// Token is sent only to the server at ServerURL ("https://github.com"), when commits must be fetched;
	// "" for no token.
	Token, ServerURL string
	// TagsDir is a directory that agents can't write to, in which Base records the tags of a checkout
	// before agents create others. With "" all tags count as created by agents.
	TagsDir   string
	Workspace string // directory that links may not lead out of; "" for none
	// OutsideDirs are directories outside of the worktrees that agents may write to. Save notes work in
	// repositories there.
	OutsideDirs []string
	// IsUncaged means that git runs without a cage. In a cage, which only Linux has, it can access only its
	// worktree, its repository and Temp. It has no network except for fetches, which run in an empty
	// repository.
	IsUncaged bool

	clock      atomic.Pointer[context.Context] // set by SetContext; nil for none
	handed     int64                           // 0 for handLimit; smaller in tests
	unreliable time.Duration                   // 0 for the constant unreliable; smaller in tests
	within     time.Duration                   // 0 for commandWithin; smaller in tests
}

// SetContext limits all later git processes by a context: when it ends, running processes are killed
// and no process is started.
func (g *Git) SetContext(ctx context.Context) { g.clock.Store(&ctx) }

const defaultLimit = 256 << 20

// rawFactor is how many times larger than the limit files may be before they are packed. Text is
// compressed to a fourth or less.
const rawFactor = 4

func (g *Git) limit() int64 {
	return cmp.Or(g.Limit, defaultLimit)
}

// ErrNoGit means that git was not found.
var ErrNoGit = errors.New("git is not installed")

// ErrSlow means that a git process exceeded its time limit.
var ErrSlow = errors.New("took more than")

// commandWithin is the time limit of one git process. Files of agents may block git forever.
const commandWithin = 5 * time.Minute

// tool runs git for one operation of this package.
type tool struct {
	opts  *Git
	path  string
	env   []string
	temp  string   // temporary directory of this tool
	caged bool     // git runs in a cage
	reads []string // paths that every git process may read: the system's files and the program's

	settingsFiles []string // settings files of the user and the machine
	machine       []setting
	views         map[string]*repoView // by common directory
	locations     map[string]*location // by directory
	ownRepos      map[string]bool      // repositories that this tool created
	tops          []string             // tops of the saved worktrees
}

// open finds git. The caller must close the tool.
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
	t := &tool{opts: g, path: path, temp: temp, caged: !g.IsUncaged && cage.EntryProgram != "", reads: all, settingsFiles: SettingsFiles(base),
		views: map[string]*repoView{}, locations: map[string]*location{}, ownRepos: map[string]bool{}}
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool { return !isHarmless(v) })
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
		// The user's SSH settings could name programs.
		"GIT_SSH_COMMAND=ssh -F none -o BatchMode=yes", "GIT_SSH_VARIANT=ssh",
		"LC_ALL=C", "LANGUAGE=", "SSH_ASKPASS=", "PATH="+strings.Join(folders, string(filepath.ListSeparator)))
	return t, nil
}

// close removes the tool's temporary files.
func (t *tool) close() { os.RemoveAll(t.temp) }

// call describes one git process.
type call struct {
	dir      string // the working directory
	bare     string // the repository to work on; "" for the repository that contains dir
	alone    bool   // it works on no repository
	remote   string // URL that it fetches from; "" for no network
	settings []setting
	env      []string  // additional variables
	in       io.Reader // standard input; nil for none
	out      io.Writer // standard output; nil to discard it
}

// failure is a git command that failed.
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

// exitedWith reports whether git exited with any of the codes.
func exitedWith(err error, codes ...int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && slices.Contains(codes, exit.ExitCode())
}

// maxOutput limits the output of git that is kept in memory, in bytes.
const maxOutput = 512 << 20

// output runs git and returns its standard output.
func (t *tool) output(ctx context.Context, c call, args ...string) ([]byte, error) {
	var out bytes.Buffer
	c.out = &limitedWriter{w: &out, left: maxOutput}
	err := t.run(ctx, c, args...)
	return out.Bytes(), err
}

// id returns the id of the object that a revision names.
func (t *tool) id(ctx context.Context, c call, name string) (string, error) {
	out, err := t.output(ctx, c, "rev-parse", "--quiet", "--verify", name)
	return strings.TrimSpace(string(out)), err
}

// objects returns the output line of git cat-file --batch-check in the given format for each object,
// which is named by id or revision.
func (t *tool) objects(ctx context.Context, c call, format string, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	c.in = strings.NewReader(lines(names...))
	out, err := t.output(ctx, c, "cat-file", "--batch-check="+format)
	all := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err == nil && len(all) != len(names) {
		err = errors.New("git cat-file printed too few lines")
	}
	return all, err
}

// run runs git. The first argument is the command. The process is killed when the context ends or its
// time limit is reached.
func (t *tool) run(ctx context.Context, c call, args ...string) error {
	within := cmp.Or(t.opts.within, commandWithin)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("git %s %w %v", args[0], ErrSlow, within))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if clock := t.opts.clock.Load(); clock != nil {
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
	killGroup(cmd)
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

// runPiped runs git while read reads its standard output. An error of read takes precedence over git's
// error. read returns errFull, which is not an error, when it needs no further output.
func (t *tool) runPiped(ctx context.Context, c call, read func(io.Reader) error, args ...string) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := read(r)
		r.CloseWithError(cmp.Or(err, errFull)) // unblocks git if read stops early
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

// environ returns the environment for a call. Git sees only repositories that this tool created as they
// are; for all others it sees a view.
func (t *tool) environ(ctx context.Context, c call) ([]string, error) {
	env, settings := slices.Clone(t.env), []setting{
		{"core.excludesFile", os.DevNull}, {"core.attributesFile", os.DevNull}, {"pack.windowMemory", "256m"},
		{"pack.useSparse", "false"}, // sparse packing compares trees by path, and a save has other paths than the checkout
		{"safe.directory", "*"}, {"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"},
		{"credential.helper", ""}, {"core.askPass", ""}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"},
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"submodule.recurse", "false"},
		{"core.pager", "cat"}, {"protocol.ext.allow", "never"}, {"core.quotePath", "false"},
	}
	switch {
	case c.alone:
		env = append(env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(resolved(c.dir)))
	case t.ownRepos[c.bare]:
		env = append(env, "GIT_DIR="+c.bare)
	case c.bare != "":
		h, err := t.view(ctx, c.bare)
		if err != nil {
			return nil, err
		}
		env, settings = append(env, h.environ(h.dir, "")...), slices.Concat(settings, h.settings)
	default:
		p, err := t.worktree(ctx, c.dir)
		if err != nil {
			return nil, err
		}
		env = append(env, p.view.environ(p.gitDir, p.top)...)
		settings = slices.Concat(settings, p.view.settings, p.settings)
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

// tail keeps the end of git's error output.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - 4096; over > 0 {
		t.data = slices.Delete(t.data, 0, over)
	}
	return len(p), nil
}

// line returns the most informative line: the first fatal one, else the last.
func (t *tail) line() string {
	lines := strings.Split(strings.TrimSpace(string(t.data)), "\n")
	for _, l := range lines {
		if rest, ok := strings.CutPrefix(l, "fatal: "); ok {
			return rest
		}
	}
	return strings.TrimPrefix(lines[len(lines)-1], "error: ")
}

// quotePath quotes a path for git's text input formats.
func quotePath(path string) string {
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
