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

// Git contains the settings for running git.
type Git struct {
	// Path is the git program that Find returned before agents started. If empty, git is searched on PATH.
	Path string
	// Env is the environment of git. Variables that would change what git works on are removed. If nil, the
	// environment of this process is used.
	Env   []string
	Limit int64 // maximum size of all bundles of a save in bytes; 0 means 256 MiB
	// Temp is an existing directory for temporary files that agents can't write to. If empty, the system's
	// directory for temporary files is used.
	Temp string
	// Token is sent only to the server at ServerURL (for example "https://github.com"), when commits must be
	// fetched. If empty, no token is sent.
	Token, ServerURL string
	// TagsDir is a directory that agents can't write to. Base records the tags of a checkout there before
	// agents create others. If empty, all tags count as created by agents.
	TagsDir string
	// Workspace is a directory that links in paths may not leave. If empty, links may point anywhere.
	Workspace string
	// OutsideDirs are directories outside of the worktrees that agents may write to. Save adds notes about
	// unsaved work in repositories there.
	OutsideDirs []string
	// IsUncaged means that git runs without a cage. Only Linux has cages. In a cage, git can access only the
	// system's files, its worktree, its repository and temporary files. Only fetches have a network. They run
	// in an empty repository.
	IsUncaged bool

	clock      atomic.Pointer[context.Context] // set by SetContext; may be nil
	handed     int64                           // if not 0, replaces handLimit in tests
	unreliable time.Duration                   // if not 0, replaces the constant unreliable in tests
	within     time.Duration                   // if not 0, replaces commandWithin in tests
}

// SetContext limits all later git processes by a context. When the context ends, running processes are
// killed, and no further process is started.
func (g *Git) SetContext(ctx context.Context) { g.clock.Store(&ctx) }

// rawFactor times the limit is the maximum total size of files before they are packed. Git compresses text
// to a quarter of its size or less.
const rawFactor = 4

// limit returns the maximum size of all bundles of a save in bytes.
func (g *Git) limit() int64 {
	return cmp.Or(g.Limit, 256<<20)
}

// ErrNoGit means that git was not found.
var ErrNoGit = errors.New("git is not installed")

// ErrSlow means that a git process exceeded its time limit.
var ErrSlow = errors.New("took more than")

// commandWithin is the time limit of one git process. The limit is needed because files of agents could
// block git forever.
const commandWithin = 5 * time.Minute

// tool runs git for one operation of this package.
type tool struct {
	opts  *Git
	path  string
	env   []string
	temp  string   // temporary directory of this tool
	caged bool     // git runs in a cage
	reads []string // paths that every git process may read: the files of the system and of the git program

	settingsFiles []string // settings files of the user and the machine
	machine       []setting
	views         map[string]*repoView // by common directory
	locations     map[string]*location // by directory
	ownRepos      map[string]bool      // repositories that this tool created
	tops          []string             // top directories of the saved worktrees
}

// open finds git and returns a tool that runs it with these settings. If git is not found, the error wraps
// ErrNoGit. The caller must close the tool.
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
		// The user's SSH settings could name programs to run, so ssh doesn't read them.
		"GIT_SSH_COMMAND=ssh -F none -o BatchMode=yes", "GIT_SSH_VARIANT=ssh",
		"LC_ALL=C", "LANGUAGE=", "SSH_ASKPASS=", "PATH="+strings.Join(folders, string(filepath.ListSeparator)))
	return t, nil
}

// close removes the tool's temporary files.
func (t *tool) close() { os.RemoveAll(t.temp) }

// call describes one git process.
type call struct {
	dir      string // the working directory
	bare     string // the repository to work on; if empty, the repository that contains dir
	alone    bool   // git works on no repository
	remote   string // URL to fetch from; if empty, git has no network
	settings []setting
	env      []string  // additional variables
	in       io.Reader // standard input; may be nil
	out      io.Writer // standard output; discarded if nil
}

// failure is the error of a git command that failed.
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

// maxOutput is the maximum size of git's output that is read into memory, in bytes.
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

// objects runs git cat-file --batch-check with a format and returns its output line for each object. Names
// are ids or revisions.
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

// run runs git. The first argument is the git command. The process is killed when the context ends or its
// time limit is reached. If git exits with an error, the result is a *failure.
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
// error. If read needs no further output, it returns errFull, which does not count as an error.
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

// environ returns the environment for a call. Git works directly on repositories that this tool created.
// For all others it sees a view.
func (t *tool) environ(ctx context.Context, c call) ([]string, error) {
	env, settings := slices.Clone(t.env), []setting{
		{"core.excludesFile", os.DevNull}, {"core.attributesFile", os.DevNull}, {"pack.windowMemory", "256m"},
		// Sparse packing is turned off. It compares trees by path, but a save and the checkout use different
		// paths.
		{"pack.useSparse", "false"},
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

// tail is a writer that retains the last 4 KiB of git's error output.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - 4096; over > 0 {
		t.data = slices.Delete(t.data, 0, over)
	}
	return len(p), nil
}

// line returns the most informative line, without its prefix: the first fatal error or else the last line.
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
