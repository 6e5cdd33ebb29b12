package action

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/confine"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// scratch is what a step has on this machine: its directories, what it leaves to the post phase, its
// log, and the runner's command files.
type scratch struct {
	dirs
	log           *jobLog
	files         *job.Files
	git           *workspace.Git // nil before the inputs are read
	note          *postNote
	integrity     *integrityLog
	conversations *store.ConversationLog
}

// dirs are the directories of a step, as absolute paths.
type dirs struct {
	top   string // the job's workspace
	work  string // the working directory of agents and scripts
	own   string // of this step alone
	state string // the state directory: own, or with store: local as the input says
	all   string // the parent of the directories of all steps of the job
}

// within returns a path, relative to a directory unless it is absolute. The path is clean, so ..
// after a link does not lead to the parent of the link's target.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// named returns the path that an input names, relative to a directory unless it is absolute. It
// refuses paths that a link leads out of the workspace.
func (d dirs) named(input, dir, path string) (string, error) {
	path = within(dir, path)
	if _, err := cage.FollowLinks(path, d.top); err != nil {
		return "", &problem.Problem{Class: problem.ClassDenied, Where: "input " + input, What: path + ": " + err.Error()}
	}
	return path, nil
}

// run returns the directory of a run's own files.
func (d dirs) run(id string) string { return filepath.Join(d.state, id) }

// events returns the path of a run's event log.
func (d dirs) events(id string) string { return filepath.Join(d.state, id, session.EventsFile) }

// shimVariable is the environment variable with the directory of the action's JavaScript. The
// JavaScript sets it itself, so that no earlier step can. It is empty if the program was started by
// hand.
const shimVariable = "RAYMOND_SHIM"

// locate determines the directories of the step below own, and changes to the working directory.
func (d *dirs) locate(j *Job) error {
	wd, err := os.Getwd()
	if err != nil {
		return problem.OfMachine("working directory", err)
	}
	d.top = cmp.Or(j.env.Getenv("GITHUB_WORKSPACE"), wd)
	if info, err := os.Stat(d.top); err != nil || !info.IsDir() {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "GITHUB_WORKSPACE", What: fmt.Sprintf("%q is not a directory on this machine", d.top),
			Hint: "an earlier step may have removed the workspace, or a container lacks it"}
	}
	work, err := d.named("working-directory", d.top, j.in.WorkingDirectory)
	if err != nil {
		return err
	}
	if d.work, err = j.env.Process.Enter(work); err != nil {
		return problem.Usage("input working-directory", err.Error(), "name a directory of the workspace that an earlier step has created")
	}
	temp := cmp.Or(j.env.Getenv("RUNNER_TEMP"), os.TempDir())
	j.machine = checkpoint.MachineDirs{Workspace: strings.TrimRight(d.top, `/\`), Temp: strings.TrimRight(temp, `/\`), OS: runtime.GOOS}
	return nil
}

// setOwn sets the step's own directory and the directories that follow from it.
func (d *dirs) setOwn(j *Job, own string) (err error) {
	d.own, d.all, d.state = own, filepath.Dir(own), own
	if j.in.IsLocal() {
		d.state, err = localDir(*d, j.in, j.event.Repository.Name)
	}
	j.options.StateDir = d.state
	return err
}

// localDir returns the directory in state-dir for the runs of this repository. Runs of other
// repositories are never resumed.
func localDir(d dirs, in job.Settings, repository string) (string, error) {
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || fileName(owner) != owner || fileName(name) != name || !filepath.IsLocal(owner) || !filepath.IsLocal(name) {
		return "", problem.Usage("GITHUB_REPOSITORY", fmt.Sprintf("%q does not have the form owner/name", repository),
			"store: local needs it to separate the runs of repositories")
	}
	return d.named("state-dir", d.top, filepath.Join(in.StateDir, owner, name))
}

// newGit returns git, from a location that agents of this or an earlier step can't write to.
func newGit(env Env, in job.Settings, d dirs, c options.Cage) *workspace.Git {
	path, err := workspace.Find(env.Environ, d.top, env.Getenv("RUNNER_TEMP"))
	if err != nil {
		path = store.NoGit
	}
	var outside []string
	for _, dir := range c.Writable {
		if dir = (&confine.Site{Environ: env.Environ}).ExpandHome(dir); !filepath.IsAbs(dir) {
			dir = filepath.Join(d.top, dir)
		}
		outside = append(outside, dir)
	}
	return &workspace.Git{
		Path: path, Temp: d.own, TagsDir: filepath.Join(d.all, tagsDir), Workspace: d.top, OutsideDirs: outside, Env: job.ScriptEnviron(env.Environ, nil), IsUncaged: in.AllowSudo || c.IsOff(),
		Token: in.GitHubToken, ServerURL: env.Getenv("GITHUB_SERVER_URL"),
	}
}

// storeConfig returns what connects a store to the step.
func (s *scratch) storeConfig(j *Job, isEnded bool) store.Config {
	c := store.Config{
		Inputs: j.in, Event: j.event, Keys: j.keys, Deadline: j.options.Deadline, Interval: j.env.Interval, Version: j.env.Version, Ended: isEnded,
		StateDir: s.state, Dir: s.own, Machine: j.machine, Services: j.services,
		Integrity: s.integrity, Conversations: s.conversations, Log: s.log, IsPublic: sync.OnceValue(func() bool { return isPublic(j) }),
		Process: store.Process{Self: j.env.Process.Self, Alive: j.env.Process.Alive},
		Claimed: func(id string) error { return s.note.change(func(d *noteData) { d.Claim, d.Lost = id, false }) },
		Lost: func() { // then neither this phase nor the post phase stores the run
			if err := s.note.change(func(d *noteData) { d.Lost = true }); err != nil {
				s.log.Warn(err.Error())
			}
		},
	}
	c.Worktree = s.worktree(j)
	return c
}

// worktree returns what saves and restores the files that agents work on, or nil with workspace: none.
func (s *scratch) worktree(j *Job) *store.Worktree {
	if j.in.Workspace != job.WorkspaceGit {
		return nil
	}
	return &store.Worktree{Git: s.git, Dir: s.work, Started: j.env.Getenv("GITHUB_SHA")}
}

// Each step has its own directory, never in the checkout: $RUNNER_TEMP/raymond/{job}-{step}-{n}.
// All steps inside a composite action have the outer step's name, so n counts the main phases with
// that name in this job. The runner passes n, and nothing else, to the post phase.

// partState is the name under which the runner keeps n.
const partState = "part"

// Names of the files and directories that all steps of a job share, beside the steps' own
// directories.
const (
	keysDir   = "keys"
	taintFile = "agents.note"
	tagsDir   = "tags" // lists of the tags that checkouts had before agents began
)

// The files in a step's directory with its note and with the conversations of its agents. No state
// file can have these names.
const (
	noteFile          = "step.note"
	conversationsFile = "sessions.note"
)

// stepDirs returns the parent of the steps' directories, and the name of this step's directory
// without its number. If the usual parent belongs to another user, for example to a container's
// root, it returns another one. If agents of an earlier step have closed the parent, it opens it
// again.
func stepDirs(getenv func(string) string) (parent, name string) {
	parent = filepath.Join(cmp.Or(getenv("RUNNER_TEMP"), os.TempDir()), "raymond")
	name = fileName(cmp.Or(getenv("GITHUB_JOB"), "job")) + "-" + fileName(cmp.Or(getenv("GITHUB_ACTION"), "step"))
	if err := os.Chmod(parent, 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EACCES) {
		parent += "-" + strconv.Itoa(os.Getuid())
	}
	return parent, name
}

// makeOwn creates the step's directory, and passes its number to the post phase.
func (s *scratch) makeOwn(j *Job) error {
	parent, name := stepDirs(j.env.Getenv)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return problem.OfMachine("RUNNER_TEMP", err)
	}
	var own string
	n, err := 0, fs.ErrExist
	for errors.Is(err, fs.ErrExist) { // earlier main phases have used the lower numbers
		n++
		own = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
		err = os.Mkdir(own, 0o700)
	}
	var key integrityKey
	if err == nil {
		key, err = integrityKeyOf(j, own)
	}
	if err == nil && key != nil { // before the post phase can find the directory
		s.integrity, err = newIntegrityLog(own, key)
	}
	if err == nil && j.env.Getenv("GITHUB_STATE") != "" { // in a job
		if err := s.files.SaveState(partState, strconv.Itoa(n)); err != nil {
			return problem.OfMachine("GITHUB_STATE", err)
		}
	}
	s.note.file, s.note.integrity = filepath.Join(own, noteFile), s.integrity
	s.conversations = store.NewConversationLog(filepath.Join(own, conversationsFile), s.integrity)
	return errors.Join(problem.OfMachine("RUNNER_TEMP", err), s.setOwn(j, own))
}

// ownOfMain returns the directory that the main phase of this step has created, or "" if the main
// phase did not get that far.
func ownOfMain(getenv func(string) string) string {
	n, err := strconv.Atoi(getenv("STATE_" + partState))
	if err != nil || n < 1 {
		return ""
	}
	parent, name := stepDirs(getenv)
	return filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
}

// halfWritten are the suffixes of state files, journals and notes that are not complete yet.
var halfWritten = []string{".json.tmp", ".journal.tmp", ".note.tmp"}

// passing are the prefixes of temporary files and directories in a step's directory: checkpoints
// that are being written or were downloaded, the work in them, and files of this program's git
// commands.
var passing = []string{"checkpoint-", "workspace-", "work-", "claim-", "raymond-git-", "raymond-restore-", "raymond-past-"}

// clearIncomplete removes the incomplete files that a killed process has left in the directory of a
// step. They contain work and conversations of the run in clear text. Files whose names have one of
// the prefixes are incomplete, too.
func clearIncomplete(dir string, prefixes []string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.ContainsFunc(halfWritten, func(suffix string) bool { return strings.HasSuffix(path, suffix) }),
			slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) }):
			err = errors.Join(err, os.RemoveAll(path))
		case e.IsDir() && prefixes != nil: // the run's directory
			err = errors.Join(err, clearIncomplete(path, nil))
		}
	}
	return err
}

// clear removes a step's files, because a runner can't remove files of a container's root. If the
// post phase has failed, the run stays. The last step of a job also removes the files that the steps
// share.
func (d dirs) clear(failed bool) error {
	if failed {
		if err := clearIncomplete(d.own, passing); err != nil {
			return err
		}
	} else if err := os.RemoveAll(d.own); err != nil {
		return err
	}
	parent, shared := filepath.Dir(d.own), []string{filepath.Base(d.own), keysDir, taintFile, tagsDir}
	entries, err := os.ReadDir(parent)
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(shared, e.Name()) }) {
		return err
	}
	for _, name := range shared[1:] {
		err = errors.Join(err, os.RemoveAll(filepath.Join(parent, name)))
	}
	_ = os.Remove(parent) // fails if a run stays
	return err
}

// reopen gives this process read and write access to a directory and everything in it. Agents can't
// write to this step's or to actions' directories, but no cage keeps them from changing modes.
// Errors are ignored here, because they show when the files are used.
func reopen(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d == nil {
			return nil // it no longer exists, which also shows later
		}
		own := map[fs.FileMode]fs.FileMode{0: 0o600, fs.ModeDir: 0o700}[d.Type()]
		if info, err := d.Info(); err == nil && info.Mode()&own != own {
			_ = os.Chmod(path, info.Mode().Perm()|own)
		}
		return nil
	})
}

// fileName replaces the characters that are not allowed in file names on some system.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '-'
		}
		return r
	}, s)
}

// postNote records for the post phase which run the step drives and how far it has got. The post
// phase handles only that run. Several goroutines may use a postNote at the same time.
type postNote struct {
	mu        sync.Mutex // guards data and the file
	file      string
	integrity *integrityLog
	data      noteData
}

// noteData is the content of a step's note.
type noteData struct {
	Key        string `json:"key"`
	WorkflowID string `json:"workflow_id"`
	// Part is the part of a matrix that the step runs; nil for the run itself.
	Part *state.Part `json:"part,omitempty"`
	// Mark identifies the processes of the run; "" before there is a run.
	Mark string `json:"mark,omitempty"`
	// Lost is set if another job has the key. The run is then not stored.
	Lost bool `json:"lost,omitempty"`
	// Subject is the subject of the run if the event of the step has none.
	Subject job.Subject `json:"subject,omitzero"`
	// Untrusted is set if the run works on an untrusted checkout.
	Untrusted bool `json:"untrusted,omitempty"`
	// Dispatched is set if the step is about to start its workflow again, or has done so.
	Dispatched bool `json:"dispatched,omitempty"`
	// Claim is the id of this step's claim of the key; "" for none.
	Claim string `json:"claim,omitempty"`
	// FromUSD is the cost of the run when the step began, and Booking how much of its cost since
	// then is stored.
	FromUSD state.USD     `json:"from_usd,omitempty"`
	Booking store.Booking `json:"booking,omitzero"`
	// Prompts is set if the files of the workflow lead to a prompt.
	Prompts bool `json:"prompts,omitempty"`
	// Reported is set once the step has stored the report of the run or tried to.
	Reported bool `json:"reported,omitempty"`
	// Pending is pendingPage or pendingComment if the step has not finished that output; "" otherwise.
	Pending string `json:"pending,omitempty"`
	// Restored is set once the run is on this machine.
	Restored bool `json:"restored,omitempty"`
	// Answers is set if Key belongs to the run whose question a comment answers.
	Answers bool `json:"answers,omitempty"`
}

// change changes the note and saves it, if the step already has a directory.
func (n *postNote) change(f func(*noteData)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.data)
	if n.file == "" {
		return nil
	}
	return n.integrity.Note(n.file, n.data)
}

// get returns a copy of the note.
func (n *postNote) get() noteData {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.data
}

// integrityKeyOf returns the key with which the main phase authenticates its files for the post phase.
// It returns nil where files are not authenticated: without a runtime token, in a directory that jobs
// share, and under act and runners based on it. act gives the two phases different tokens, and for
// Gitea's runner this is not known.
func integrityKeyOf(j *Job, own string) (integrityKey, error) {
	token := j.env.Getenv("ACTIONS_RUNTIME_TOKEN")
	if token == "" || j.in.IsLocal() || j.event.IsActBased {
		return nil, nil
	}
	return newIntegrityKey(token, j.event.StepID()+"/"+filepath.Base(own))
}

// How often, and at which interval, the post phase checks the files of a main phase that may still
// be writing them.
const (
	integrityChecks = 10
	integrityPause  = 20 * time.Millisecond
)

// checkUnaltered returns a problem of class denied if a file is not as the main phase left it.
func (s *scratch) checkUnaltered(j *Job) error {
	key, err := integrityKeyOf(j, s.own)
	if err != nil || key == nil {
		return err
	}
	needed := []string{noteFile, conversationsFile}
	if id := s.note.get().WorkflowID; id != "" {
		needed = append(needed, id+".json", id+journal.Ext, id+"/"+store.ChainFile, id+"/"+session.EventsFile)
		if event, err := filepath.Rel(s.own, j.env.Getenv("GITHUB_EVENT_PATH")); err == nil {
			needed = append(needed, filepath.ToSlash(event))
		}
	}
	for range integrityChecks {
		if err = checkIntegrity(s.own, key, needed...); err == nil {
			return nil
		}
		time.Sleep(integrityPause)
	}
	a, ok := errors.AsType[*alteredError](err)
	if !ok {
		return err
	}
	return &problem.Problem{
		Class: problem.ClassDenied, Where: a.Name, What: "altered since this step wrote it; nothing more of the run is stored (" + a.Why + ")",
		Hint: "the last checkpoint of the main phase is unchanged; check what the agents did before you continue from it",
	}
}

// isIntact reports whether one file of the main phase is unaltered, regardless of the others.
func (s *scratch) isIntact(j *Job, name string) bool {
	key, err := integrityKeyOf(j, s.own)
	return err == nil && key != nil && isUnaltered(s.own, key, name)
}

// isDenied reports whether an error means that a file was altered.
func isDenied(err error) bool {
	p, ok := errors.AsType[*problem.Problem](err)
	return ok && p.Class == problem.ClassDenied
}

// taintPath returns the path of the taint file. It lies beside the directories of the job's steps,
// where agents can't see it, and lists the directories that agents could write to.
func (d dirs) taintPath() string { return filepath.Join(d.all, taintFile) }

// taintedDirs returns the directories that agents of this job could write to, or nil if no agent has
// run. If the taint file can't be read, it returns the root directory.
func (d dirs) taintedDirs() []string {
	var list []string
	if err := files.ReadJSON(d.taintPath(), &list); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return []string{string(filepath.Separator)}
	}
	return list
}

// isTainted reports whether agents of this job could have written any of the given files. Paths are
// relative to the workspace or to the working directory.
func (d dirs) isTainted(paths ...string) bool {
	tainted := cage.ResolveAll(d.taintedDirs())
	return slices.ContainsFunc(paths, func(path string) bool {
		at := cage.ResolveAll([]string{within(d.top, path), within(d.work, path)})
		isTheirs := func(at string) bool {
			return slices.ContainsFunc(tainted, func(dir string) bool { return cage.IsWithin(at, dir) })
		}
		return path != "" && slices.ContainsFunc(at, isTheirs)
	})
}

// taint records that agents start in this job, or that files from agents are restored, and which
// directories besides the workspace they can write to. It does so with and without a cage.
func (d dirs) taint(writable []string) error {
	known := d.taintedDirs()
	all := slices.Concat(known, []string{d.top, d.work}, writable)
	slices.Sort(all)
	if all = slices.Compact(all); slices.Equal(all, known) {
		return nil
	}
	return files.WriteJSON(d.taintPath(), all)
}
