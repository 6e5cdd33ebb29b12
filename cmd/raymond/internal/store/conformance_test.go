//go:build linux

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// promises are the contract of Store and Lease. A promise is made for the stores in of. For those in
// withWork, jobs have a git repository in which agents have worked.
var promises = []struct {
	of, withWork storeKind
	text         string
	check        func(*testing.T, *site)
}{
	{durable, artifactKind | localKind, "a later job restores the run", laterJobRestoresTheRun},
	{all, 0, "each run of a key can be found", eachRunOfAKeyCanBeFound},
	{checkpointed, 0, "a job of a matrix resumes its part", jobResumesItsPart},
	{checkpointed, 0, "one job at a time has a key", oneJobHasAKey},
	{checkpointed, 0, "steps are stored at intervals, and at once if needed", stepsAreStored},
	{checkpointed, memoryKind, "only what is stored can be resumed", onlyWhatIsStoredCanBeResumed},
	{all, localKind, "the end is stored once", endIsStoredOnce},
	{all, 0, "only stored conversations are removed", onlyStoredConversationsAreRemoved},
	{all, 0, "limitations are named", limitationsAreNamed},
}

// storeKind is a set of stores.
type storeKind int

const (
	artifactKind storeKind = 1 << iota
	memoryKind
	localKind
	noneKind

	checkpointed = artifactKind | memoryKind
	durable      = checkpointed | localKind
	all          = durable | noneKind
)

func TestConformance(t *testing.T) {
	repo := sitetest.Repository(t, "-- README --\nfiles\n")
	for kind, name := range map[storeKind]string{artifactKind: "artifact", memoryKind: "memory", localKind: "local", noneKind: "none"} {
		for _, p := range promises {
			if p.of&kind == 0 {
				continue
			}
			t.Run(name+"/"+p.text, func(t *testing.T) {
				t.Parallel()
				s := &site{t: t, kind: kind, open: New}
				if p.withWork&kind != 0 {
					s.repo = repo
				}
				s.prepare()
				p.check(t, s)
			})
		}
	}
}

// site is a repository with a store and the jobs that use it.
type site struct {
	t     *testing.T
	kind  storeKind
	repo  string // the checkout of each job; "" if agents don't work on files
	open  func(Config) Store
	fail  func() context.Context // lets the store fail: what is stored with this context fails halfway
	heal  func()                 // ends the failure
	jobs  int64
	first *testJob
}

// prepare opens the store.
func (s *site) prepare() {
	switch s.kind {
	case memoryKind:
		var m Memory
		s.open, s.heal = m.Open, func() { m.Fail(nil) }
		s.fail = func() context.Context { m.Fail(errors.New("unavailable")); return s.t.Context() }
	case localKind:
	default:
		server := artifactstest.New(s.t)
		api, err := forge.New(forge.Options{URL: server.URL + "/api", Token: artifactstest.APIToken, Repository: "o/r"})
		assert.NilError(s.t, err)
		s.open = func(c Config) Store {
			id := c.Event.RunID
			server.ChangeRun(id, func(r *artifactstest.Run) {
				*r = artifactstest.Run{ID: id, Event: "issues", Status: "in_progress", Path: c.Event.Workflow, HeadBranch: "main", HeadRepository: artifactstest.Repository}
			})
			c.Services = Services{Finder: slots.Finder{Archive: artifacts.NewArchive(api, nil)}, Holder: fmt.Sprint(id)}
			if s.kind == artifactKind {
				runtime, err := artifacts.NewRuntime(artifacts.Options{URL: server.URL, Token: artifactstest.Token(id)})
				assert.NilError(s.t, err)
				c.Services.Service = runtime
			}
			return New(c)
		}
		s.heal = func() { server.OnChange = nil }
		s.fail = func() context.Context { // the process is killed before the service confirms an upload
			ctx, cancel := context.WithCancel(s.t.Context())
			server.OnChange = func([]artifactstest.Artifact) { cancel() }
			server.Fail(artifactstest.Fault{Op: "FinalizeArtifact", Times: 1, Status: 500, After: true})
			return ctx
		}
	}
}

// testJob is a job that uses the store. Its machine is new, except for a local store.
type testJob struct {
	*pastRun
	site   *site
	c      Config
	store  Store
	key    Key
	lease  Lease
	start  RunStart
	note   Note
	isLost atomic.Bool
	work   string // the working directory
	home   string // has the conversations
}

// job begins a job with the given changes to its Config.
func (s *site) job(changes ...func(*Config)) *testJob {
	s.t.Helper()
	s.jobs++
	mask, _ := secrets.New(nil)
	root := s.t.TempDir()
	j := &testJob{pastRun: &pastRun{t: s.t, now: time.Now()}, site: s, key: Key{Name: "k"}, start: start, work: filepath.Join(root, "work"), home: filepath.Join(root, "home")}
	j.c = Config{
		StateDir: filepath.Join(root, "state"), Dir: filepath.Join(root, "step"), Log: &fakeLog{mask: mask}, Integrity: fakeIntegrity{}, Interval: time.Hour,
		IsPublic: func() bool { return false }, Claimed: func(id string) error { j.note.Claim = id; return nil }, Lost: func() { j.isLost.Store(true) },
		Process: Process{Self: func() slots.Process { return slots.Process{} }, Alive: func(slots.Process) (alive, known bool) { return false, false }},
		Event: job.Event{
			RunID: s.jobs, Attempt: 1, Job: "j", Name: "issues", Workflow: ".github/workflows/w.yml", Branch: "main",
			Repository: job.Repository{ID: artifactstest.Repository, Name: "o/r", DefaultBranch: "main"},
		},
	}
	c := &j.c
	if s.first == nil {
		s.first = j
	}
	if s.kind == localKind {
		c.Inputs.Store, c.StateDir, j.work = job.StoreLocal, s.first.c.StateDir, s.first.work
		assert.NilError(s.t, os.RemoveAll(j.work))
	}
	if s.repo != "" {
		assert.NilError(s.t, os.CopyFS(j.work, os.DirFS(s.repo)))
		c.Worktree = &Worktree{Git: &workspace.Git{Env: os.Environ(), Temp: c.Dir, IsUncaged: true}, Dir: j.work}
	}
	c.Machine = checkpoint.MachineDirs{Workspace: j.work, Temp: c.Dir, OS: "linux"}
	c.Conversations = NewConversationLog(filepath.Join(c.Dir, "sessions.note"), c.Integrity)
	for _, change := range changes {
		change(c)
	}
	assert.NilError(s.t, os.MkdirAll(c.Dir, 0o700))
	j.store = s.open(*c)
	return j
}

// agents returns the agent CLIs with the conversations of the job.
func (j *testJob) agents() map[string]runner.AgentCLI {
	return clis.New(clis.Config{Env: []string{"CLAUDE_CONFIG_DIR=" + j.home}})
}

// look looks for a run, and returns its id; "" for none.
func (j *testJob) look(mode string) (*Lookup, string) {
	j.t.Helper()
	l, err := j.store.Look(j.t.Context(), Query{j.key.Name, mode})
	assert.NilError(j.t, err)
	j.t.Cleanup(l.Remove)
	if l.Run == nil {
		return l, ""
	}
	return l, l.Run.WorkflowID
}

// claim claims the key, and waits until it is known which job has it.
func (j *testJob) claim() (err error) {
	j.t.Helper()
	j.lease, err = j.store.Claim(j.key)
	assert.NilError(j.t, err)
	return j.lease.Wait(j.t.Context(), time.Minute)
}

// start describes how the runs of these tests begin.
var start = RunStart{
	KeyOrigin: &checkpoint.KeyOrigin{Job: "j"}, Checkout: strings.Repeat("c", 40), Input: strings.Repeat("d", 64),
	Supersedes: checkpoint.SupersededRun{WorkflowID: "k-11111111", Head: strings.Repeat("e", 40)},
}

// restore restores the run that was found, or begins a run with an id that is not "".
func (j *testJob) restore(l *Lookup, id string) {
	j.t.Helper()
	to := Target{
		ID: id, Start: j.start, About: job.Subject{Kind: job.KindIssue, Number: 7, Title: "Title"}, Untrusted: true, HasPrompts: true, Scope: "/w", Dir: j.work,
		Agents: j.agents(), AgentsIn: func(string) map[string]runner.AgentCLI { return j.site.first.agents() }, Freeze: func() error { return nil },
	}
	if id == "" {
		id = l.Run.WorkflowID
	}
	var err error
	j.file, j.run, err = j.lease.Restore(j.t.Context(), l, to)
	assert.NilError(j.t, err)
	j.t.Cleanup(func() { j.file.Close() })
	j.dir = filepath.Join(j.c.StateDir, id)
	j.note = Note{Key: j.key, WorkflowID: id, Claim: j.note.Claim, IsRestored: true, About: to.About, Untrusted: true, Agents: to.Agents}
}

// begin claims the key and begins a run that has executed one state, with a conversation and work.
func (s *site) begin(j *testJob) *testJob {
	s.t.Helper()
	l, _ := j.look(slots.Never)
	assert.NilError(s.t, j.claim())
	j.restore(l, fmt.Sprintf("k-%08d", s.jobs))
	j.begin(j.work)
	j.execute(1, false)
	write(s.t, filepath.Join(j.dir, "events.jsonl"), "{}\n")
	write(s.t, filepath.Join(j.dir, "logs", "main", "1.log"), "log")
	write(s.t, filepath.Join(j.work, "new.txt"), "work")
	write(s.t, j.conversation(), said)
	return j
}

// conversation returns the path of the run's conversation.
func (j *testJob) conversation() string {
	return filepath.Join(j.home, "projects", "work", conversationOf(1)+".jsonl")
}

// end stores the end of the run and ends the job.
func (j *testJob) end() {
	j.t.Helper()
	_, err := j.lease.StoreEnd(j.t.Context(), j.run, true)
	assert.Check(j.t, errors.Join(err, j.lease.Release(j.t.Context()), j.file.Close()))
}

// post begins a post phase of the job, after the process before was killed.
func (j *testJob) post() *testJob {
	j.t.Helper()
	j.file.Close() // as the kernel does
	p := &testJob{pastRun: &pastRun{t: j.t, dir: j.dir}, site: j.site, c: j.c, note: j.note}
	p.c.Ended = true
	var err error
	p.lease, err = j.site.open(p.c).Reopen(j.note)
	assert.NilError(j.t, err)
	p.file, p.run, err = p.lease.Restore(j.t.Context(), nil, Target{})
	assert.NilError(j.t, err)
	j.t.Cleanup(func() { p.file.Close() })
	return p
}

func laterJobRestoresTheRun(t *testing.T, s *site) {
	a := s.begin(s.job())
	a.end()
	view := s.job()
	l, _ := view.look(slots.Auto)
	view.lease = view.store.View()
	view.restore(l, "")
	view.run.Progress.Seq++
	view.end() // changes nothing
	b := s.job()
	l, _ = b.look(slots.Auto)
	assert.Check(t, is.DeepEqual(*l.Manifest, checkpoint.Manifest{
		WorkflowID: a.run.WorkflowID, Key: "k", Status: state.Running, Seq: 3, TotalUSD: a.run.Progress.TotalUSD, Iterations: 1, Untrusted: true,
		KeyOrigin: start.KeyOrigin, Checkout: start.Checkout, Input: start.Input, Supersedes: start.Supersedes, Kind: job.KindIssue, Number: 7, Title: "Title",
	}, cmpopts.IgnoreFields(checkpoint.Manifest{}, "Schema", "RepositoryID", "Repository", "Workflow", "Generation", "RunID", "RunAttempt", "Job", "Event",
		"Created", "Dirs", "Program", "Transcripts", "Files")))
	assert.Check(t, l.Manifest.TotalUSD > 0)
	assert.NilError(t, b.claim())
	b.restore(l, "")
	assert.Check(t, is.Equal(b.run.Progress.Seq, 3))
	assert.Check(t, is.Equal(b.run.Dir, b.work))
	assert.Check(t, s.repo == "" || sitetest.Read(t, filepath.Join(b.work, "new.txt")) == "work")
	assert.Check(t, is.Equal(sitetest.Read(t, filepath.Join(b.dir, "events.jsonl")), "{}\n"))
	assert.Check(t, is.Equal(sitetest.Read(t, filepath.Join(b.dir, "logs", "main", "1.log")), "log"))
	found, ok := b.agents()[protocol.BackendClaude].Find(runner.Conversation{ID: conversationOf(1)}, []string{b.work})
	assert.Check(t, ok && sitetest.Read(t, found.Path) == said, "the conversation is missing")
	restored, err := ReadConversations(filepath.Join(b.c.Dir, "sessions.note"))
	assert.Check(t, err == nil && (s.kind == localKind || len(restored) == 1 && restored[0].Placed != nil), "got %v, %v", restored, err)
	_, _, err = journal.Open(b.c.StateDir, b.run.WorkflowID, "other")
	_, isLocked := errors.AsType[*journal.LockedError](err)
	assert.Check(t, isLocked, "the state is not locked: %v", err)
	b.execute(2, false)
	_, _, isRecorded := b.c.Integrity.Content(b.dir + journal.Ext)
	assert.Check(t, isRecorded, "the integrity log lacks the journal")
	b.end()
	l, _ = s.job().look(slots.Auto)
	assert.Check(t, is.DeepEqual(l.Manifest.KeyOrigin, start.KeyOrigin))
	assert.Check(t, s.kind == localKind || l.Manifest.Generation == 2 && l.Manifest.Base != nil && l.Manifest.Previous != "", "got %+v", l.Manifest)
	saved, err := filepath.Glob(filepath.Join(b.dir, "workspace-*"))
	assert.Check(t, err == nil && (s.kind != localKind || len(saved) == 1), "got the saved work %v, %v", saved, err)
	dir, err := l.StateDir()
	assert.NilError(t, err)
	var history []int
	for step, err := range journal.History(dir, b.run.WorkflowID) {
		assert.NilError(t, err)
		history = append(history, step.After().Progress.Seq)
	}
	assert.Check(t, is.DeepEqual(history, []int{1, 2, 3, 4, 5}), "history")
}

// inRunOf lets a job belong to the workflow run of another job.
func inRunOf(j *testJob) func(*Config) {
	return func(c *Config) { c.Event.RunID = j.c.Event.RunID }
}

func eachRunOfAKeyCanBeFound(t *testing.T, s *site) {
	a := s.begin(s.job())
	a.end()
	b := s.begin(s.job(inRunOf(a))) // another step of the same job
	b.end()
	for look, want := range map[[2]string]string{
		{"k", slots.Auto}: b.run.WorkflowID, {"k", slots.Require}: b.run.WorkflowID, {"k", a.run.WorkflowID}: a.run.WorkflowID,
		{"k", slots.Never}: "", {"k", "k-99999999"}: "", {"K", slots.Auto}: "",
	} {
		j := s.job()
		j.key.Name = look[0]
		l, id := j.look(look[1])
		assert.Check(t, l != nil && (id == want || id == "" && s.kind == noneKind), "%s: got %q", look, id)
	}
}

func jobResumesItsPart(t *testing.T, s *site) {
	a := s.begin(s.job())
	main := *a.run.Agents[0]
	main.Status, main.Handovers, main.Waits = state.Waiting, 1, &state.WaitCondition{For: state.ForJob, Job: "work", Since: a.run.Created}
	a.run.Agents = []*state.Agent{&main}
	a.take(true, func(s *state.Step) { s.HandOver("work", 2) })
	part := a.run.Parts[0]
	a.end()
	for n := range 2 { // the part begins, and is resumed
		b := s.job(inRunOf(a))
		l, _ := b.look(slots.Auto)
		parts, err := b.store.Parts(t.Context(), l, []state.Part{part, {Name: "00000000"}})
		assert.NilError(t, err)
		assert.Assert(t, is.Len(parts, 2))
		assert.Check(t, is.Equal(parts[0].IsStored, n > 0))
		assert.Check(t, !parts[1].IsStored && parts[1].Read(t.Context()) == nil && parts[1].Newest() == nil)
		if n == 0 {
			l.Run = part.NewRun(l.Run)
		} else {
			assert.NilError(t, parts[0].Read(t.Context()))
			assert.Check(t, is.Equal(parts[0].Newest().Manifest.PartName(), part.Name))
			l, err = parts[0].Resume()
			assert.NilError(t, err)
		}
		b.key.Part = &part
		assert.NilError(t, b.claim())
		b.restore(l, "")
		b.end()
	}
}

func oneJobHasAKey(t *testing.T, s *site) {
	a, b := s.begin(s.job()), s.job()
	var conflict *slots.Conflict
	err := b.claim()
	assert.Check(t, errors.As(err, &conflict), "got %v, want a conflict", err)
	assert.Check(t, is.Equal(<-b.lease.Lost(), `a conflict about the key "k"`))
	assert.Check(t, b.isLost.Load() && !a.isLost.Load())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var prompts promptCounter
	_, err = Guard(b.lease, &prompts).Run(ended, runner.Order{}, nil)
	failure, _ := errors.AsType[*runner.Failure](err)
	assert.Check(t, failure != nil && failure.Class == runner.Stopped && prompts.prompts == 0, "got %v after %d prompts", err, prompts.prompts)
	b.restore(&Lookup{}, "k-00000000")
	b.begin(b.work)
	receipt, err := b.lease.StoreEnd(t.Context(), b.run, true)
	assert.Check(t, errors.As(err, &conflict) && !receipt.IsWhole && receipt.Checkpoint == slots.Named{}, "got %+v, %v; want a conflict", receipt, err)
	_, id := s.job().look(slots.Auto)
	assert.Check(t, is.Equal(id, ""), "the second job has stored its run")
	assert.Check(t, b.lease.Release(t.Context()))
	assert.Check(t, errors.Join(a.file.Close(), a.claim()), "the same step claims again")
	a.restore(&Lookup{}, a.run.WorkflowID)
	a.begin(a.work)
	assert.Check(t, s.job().claim() != nil, "released by a job that does not have it")
	a.end()
	assert.Check(t, a.lease.Release(t.Context()), "again")
	p := s.begin(s.job()).post()
	assert.Check(t, errors.Join(p.lease.Release(t.Context()), p.lease.Release(t.Context())))
	assert.Check(t, s.job().claim(), "after the post phase")
}

// urgency is an Urgency that a test controls.
type urgency struct{ isUrgent, isOver bool }

func (u *urgency) NeedsCheckpoint() bool { return u.isUrgent }
func (u *urgency) ExpectNoCheckpoints()  { u.isOver = true }

func stepsAreStored(t *testing.T, s *site) {
	a, b, now := s.job(), s.job(), time.Now()
	a.start.Supersedes.WorkflowID, b.key.Name = "", "b"
	s.begin(a)
	stored := func(of *testJob, when string) {
		t.Helper()
		event := <-of.lease.Stored()
		assert.Check(t, event.SeqStored == of.run.Progress.Seq && event.Error == "" && event.Bytes > 0, "%s: got %+v", when, event)
	}
	assert.Check(t, !a.lease.Offer(a.run, now), "before an interval is over")
	assert.Assert(t, a.lease.Offer(a.run, now.Add(2*time.Hour)))
	stored(a, "after an interval")
	a.execute(2, false)
	assert.Check(t, !a.lease.Offer(a.run, now.Add(time.Hour-time.Second)), "before the next interval is over")
	var u urgency
	a.lease.Expedite(&u)
	assert.Check(t, !a.lease.Offer(a.run, now), "before it is urgent")
	u.isUrgent = true
	assert.Check(t, !a.lease.Offer(a.run, now), "it is offered again until it is stored")
	stored(a, "at once")
	a.end()
	assert.Check(t, a.lease.Offer(a.run, now) && u.isOver, "after the end")
	assert.Assert(t, s.begin(b).lease.Offer(b.run, time.Now()), "the run supersedes another one")
	stored(b, "a run that supersedes another one")
	b.execute(2, false)
	p := b.post()
	assert.Check(t, !p.lease.Receipt().IsWhole, "only an earlier step is stored")
	_, err := p.lease.StoreEnd(t.Context(), p.run, true)
	c, failed := readChain(b.dir)
	assert.Check(t, errors.Join(err, failed) == nil && c.Stored == 2, "got %+v, %v, %v", c, err, failed)
}

// Changes to a Config.
func isPublic(c *Config)   { c.IsPublic = func() bool { return true } }
func isFromFork(c *Config) { c.Event.Code.Fork, c.Event.Name = true, "pull_request" }

func onlyWhatIsStoredCanBeResumed(t *testing.T, s *site) {
	left := []*state.Agent{{ID: "main", Session: &state.Session{ID: conversationOf(1)}}}
	lacks := map[bool]string{true: "conversations can't", false: "conversations and work in the workspace can't"}[s.repo == ""]
	for want, change := range map[string]func(*Config){"": func(*Config) {}, lacks: isPublic, "fork": isFromFork} {
		j := s.job(change)
		j.key.Name += want
		err := s.begin(j).lease.CheckResumable(left)
		assert.Check(t, (want == "") == (err == nil) && strings.Contains(fmt.Sprint(err), want), "got %v, want %q", err, want)
		assert.Check(t, is.Equal(len(j.lease.Receipt().Omissions) > 0, want != ""), want)
		if want != lacks {
			continue
		}
		j.end() // without conversations, which may be removed nevertheless
		assert.Check(t, len(j.lease.RemoveConversations([]Conversation{{ID: conversationOf(1)}})) == 0 && !sitetest.Exists(j.conversation()))
		assert.Check(t, is.Contains(fmt.Sprint(j.c.Log.(*fakeLog).notes), "anyone can read"))
		l, _ := j.look(slots.Auto)
		assert.Check(t, !sitetest.Exists(filepath.Join(l.Dir, "transcripts")) && !sitetest.Exists(filepath.Join(l.Dir, "workspace")), "anyone can read them")
		assert.NilError(t, j.claim())
		j.restore(l, "")
		assert.Check(t, j.run.Agents[0].Session == nil, "the run has a conversation that is not stored")
	}
}

func endIsStoredOnce(t *testing.T, s *site) {
	a, isLocal := s.begin(s.job()), s.kind == localKind
	want := map[storeKind]Receipt{artifactKind: {Place: Elsewhere}, memoryKind: {Place: Elsewhere}, localKind: {Place: OnMachine, IsWhole: true}}[s.kind]
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := a.lease.StoreEnd(ended, a.run, false)
	assert.Check(t, err)
	assert.Check(t, is.DeepEqual([]Receipt{got, a.lease.Receipt()}, []Receipt{want, want}), "without time")
	_, id := s.job().look(slots.Auto)
	assert.Check(t, id == "" || isLocal && readSavedWork(a.dir).Folder == "", "without time: stored %s", id)
	if s.kind == noneKind {
		return
	}
	if s.fail != nil {
		got, err = a.lease.StoreEnd(s.fail(), a.run, true)
		assert.Check(t, err != nil && !got.IsWhole && got.Checkpoint == slots.Named{}, "the store fails: got %+v, %v", got, err)
		s.heal()
	}
	lease, err := a.store.Reopen(a.note)
	assert.NilError(t, err)
	_, _, err = lease.Restore(t.Context(), nil, Target{})
	_, isLocked := errors.AsType[*journal.LockedError](err)
	assert.Check(t, isLocked != isLocal && errors.Is(err, ErrDriven) == isLocal, "another process drives the run: got %v", err)
	if isLocal { // the main phase was killed before it restored the work, which stays as it is
		a.note.IsRestored = false
		p := a.post()
		_, err := p.lease.StoreEnd(t.Context(), p.run, true)
		assert.Check(t, err == nil && readSavedWork(a.dir).Folder == "", "the work was not restored: got %v", err)
		p.file.Close()
		a.note.IsRestored = true
	}
	p := a.post()
	assert.Check(t, p.run.Progress.Seq == 3 && p.lease.Receipt().IsWhole == isLocal, "got step %d, %+v", p.run.Progress.Seq, p.lease.Receipt())
	for range 2 {
		got, err = p.lease.StoreEnd(t.Context(), p.run, true)
		assert.NilError(t, err)
		if !isLocal {
			want = Receipt{Place: Elsewhere, Name: got.Event.Store, IsWhole: true, Event: got.Event, Checkpoint: slots.Named{WorkflowID: a.run.WorkflowID, Generation: 1, Digest: got.Checkpoint.Digest}}
			assert.Check(t, got.Checkpoint.Digest != "" && got.Event.SeqStored == 3, "got %+v", got)
		}
		assert.Check(t, is.DeepEqual(got, want), "in the post phase")
	}
	saved, q := readSavedWork(a.dir), p.post()
	assert.Check(t, q.lease.Receipt().IsWhole && q.lease.Receipt().Name == want.Name, "got %+v", q.lease.Receipt())
	got, err = q.lease.StoreEnd(t.Context(), q.run, true)
	assert.Check(t, err == nil && got.Event == nil, "again: got %+v, %v", got, err)
	assert.Check(t, is.DeepEqual(readSavedWork(a.dir), saved), "the work was saved again")
	q.file.Close()
	l, _ := s.job().look(slots.Auto)
	assert.Check(t, l.Manifest.Seq == 3 && l.Manifest.Number == 7 && l.Manifest.Untrusted && l.Manifest.Ended != isLocal && l.Receipt().Checkpoint == want.Checkpoint, "got %+v", l.Manifest)
}

func onlyStoredConversationsAreRemoved(t *testing.T, s *site) {
	remove := func(j *testJob, when string, isRemoved bool) {
		t.Helper()
		failed := j.lease.RemoveConversations([]Conversation{{ID: conversationOf(1)}})
		assert.Check(t, len(failed) == 0 && sitetest.Exists(j.conversation()) != isRemoved, when)
	}
	a := s.begin(s.job())
	remove(a, "before the end", s.kind == noneKind)
	a.end()
	remove(a, "after the end", s.kind != localKind)
	b := s.begin(s.job())
	b.end()
	write(t, b.conversation(), said+said)
	remove(b, "changed after the end", s.kind == noneKind)
	c := s.begin(s.job())
	c.note.IsLost = true
	p := c.post()
	p.home = c.home
	remove(p, "the key is lost", s.kind != localKind)
}

func limitationsAreNamed(t *testing.T, s *site) {
	withoutGit := func(c *Config) { c.Worktree = &Worktree{Git: &workspace.Git{Path: NoGit}} }
	for want, change := range map[string]func(*Config){"": func(*Config) {}, losesOpen: isPublic, losesFork: isFromFork, losesFiles: withoutGit} {
		if s.kind == noneKind {
			want = losesAll
		} else if s.kind == localKind && want != losesFiles {
			want = ""
		}
		assert.Check(t, is.Equal(append(s.job(change).store.Limitations(true), "")[0], want))
	}
	got := append(s.job(isPublic).store.Limitations(false), "")[0]
	assert.Check(t, is.Equal(got, map[storeKind]string{noneKind: losesAll}[s.kind]), "without prompts")
}
