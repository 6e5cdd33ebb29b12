package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Services are the services of the job that store artifacts.
type Services struct {
	slots.Finder        // Service is nil without a results service, Archive without a token
	Holder       string // identifies the job for the results service
	Err          error  // why the results service can't be used
}

// Connect returns the services of a job. It sends no requests. hasToken reports whether api has a
// token. mask is called with each secret that a service sends.
func Connect(api *forge.Client, hasToken bool, e job.Event, getenv func(string) string, mask func(string), transport http.RoundTripper) (v Services) {
	if hasToken {
		v.Archive = artifacts.NewArchive(api, mask)
	}
	token := getenv("ACTIONS_RUNTIME_TOKEN")
	if token == "" {
		return v
	}
	runtime, err := artifacts.NewRuntime(artifacts.Options{URL: getenv("ACTIONS_RESULTS_URL"), Token: token, Mask: mask, Act: e.IsUnderAct(), Transport: transport})
	if err != nil { // with store: local the service may not be needed
		v.Err = &problem.Problem{Class: problem.ClassStore, Where: "results service", What: err.Error(),
			Hint: "if this server has no artifact service, store: local with a state-dir stores runs on the machine"}
		return v
	}
	v.Service, v.Holder = runtime, runtime.Job()
	return v
}

// JobStart returns when the job of an event started, or the zero time if this is not known.
func (v Services) JobStart(ctx context.Context, e job.Event) time.Time {
	if v.Archive == nil || e.Runner == "" || e.IsUnderAct() {
		return time.Time{}
	}
	jobs, _ := v.Archive.Jobs(ctx, e.RunID) // empty if the token lacks the permission
	return slots.StartOf(jobs, jobOf(e))
}

// jobOf returns the job of an event.
func jobOf(e job.Event) slots.Job {
	return slots.Job{RunID: e.RunID, Attempt: e.Attempt, ID: e.Job, Runner: e.Runner}
}

// query returns a query for the checkpoints of a key.
func (c *Config) query(k Key, mode string) slots.Query {
	var part state.Part
	if k.Part != nil {
		part = *k.Part
	}
	e := c.Event
	return slots.Query{
		Mode: mode, Key: k.Name, Part: part,
		Origin: slots.Origin{
			RepositoryID: e.Repository.ID, Workflow: e.Workflow, ResumeFrom: c.Inputs.ResumeFrom,
			Branch: e.Branch, DefaultBranch: e.Repository.DefaultBranch, Gitea: e.IsGitea,
			Head: e.Code.Head, Sealed: c.Keys != nil,
		},
		Job: jobOf(e), SameIDs: e.IsGitea || e.IsUnderAct(), Act: e.IsUnderAct(), Temp: c.Dir,
		Read: func(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error) {
			return checkpoint.Read(checkpoint.ReadRequest{File: f, Size: size, Keys: c.Keys, Dir: dir})
		},
	}
}

// retention returns how long artifacts are stored.
func (c *Config) retention() time.Duration {
	return time.Duration(c.Inputs.RetentionDays) * 24 * time.Hour
}

// Ledger stores how much runs have cost, with every store.
type Ledger struct{ Config }

// Spent returns what runs of a key and of the workflow file have cost since a time.
func (l Ledger) Spent(ctx context.Context, k Key, since time.Time) (slots.Spent, error) {
	if l.Services.Err != nil {
		return slots.Spent{}, l.Services.Err
	}
	return l.Services.Spent(ctx, l.query(k, ""), since)
}

// Booking is how much of the cost of a step is stored.
type Booking struct {
	// Name is the artifact that contains StoredUSD, or that was about to be stored with it.
	Name      string    `json:"name,omitempty"`
	StoredUSD state.USD `json:"stored_usd,omitempty"`
	IsStored  bool      `json:"is_stored,omitempty"` // the artifact was stored
}

// Book stores, once and until a time, that a step has cost usd. done is what earlier calls have
// stored; save saves its next value. Without a results service, Book stores nothing.
func (l Ledger) Book(ctx context.Context, k Key, usd state.USD, done Booking, expires time.Time, save func(Booking) error) error {
	if done.IsStored {
		usd -= done.StoredUSD
	}
	if usd <= 0 {
		return nil
	}
	if l.Services.Service == nil {
		return l.Services.Err
	}
	if done.Name != "" && !done.IsStored {
		there, err := slots.HasStored(ctx, l.Services.Service, done.Name)
		if there {
			usd -= done.StoredUSD
		}
		if err != nil || usd <= 0 {
			return err
		}
	}
	x := slots.Spending{Workflow: l.Event.Workflow, Key: k.Name, USD: usd, Job: jobOf(l.Event)}
	if k.Part != nil {
		x.Part = k.Part.Name
	}
	now := Booking{StoredUSD: usd}
	err := x.Store(ctx, l.Services.Service, expires, func(name string) error {
		now.Name = name
		return save(now)
	})
	if err != nil {
		return err
	}
	now.IsStored = true
	return save(now)
}

// Reports stores the reports of runs, with every store.
type Reports struct{ Config }

// Put stores an archive of size bytes as the report of a key's run, and deletes the report of an
// earlier step of the job. Without a results service, it returns a zero link.
func (r Reports) Put(ctx context.Context, key string, content *os.File, size int64) (report.Link, error) {
	to := r.Services.Service
	if to == nil {
		return report.Link{}, r.Services.Err
	}
	n := artifacts.NewArtifact{
		Name: slots.Place{Key: key}.ReportName(r.Event.Attempt, r.Event.Job), Content: content, Size: size, Expires: time.Now().Add(r.retention()),
	}
	old, err := to.List(ctx, n.Name)
	for _, a := range old {
		n.NameFreed, err = true, errors.Join(err, to.Delete(ctx, a))
	}
	if err != nil {
		return report.Link{}, err
	}
	stored, err := to.Upload(ctx, n)
	if err != nil {
		return report.Link{}, err
	}
	link := report.Link{Name: n.Name}
	if at := r.Event.RunURL(r.Event.RunID); at != "" && stored.ID != 0 && !r.Event.IsGitea && !r.Event.IsUnderAct() {
		link.URL = fmt.Sprintf("%s/artifacts/%d", at, stored.ID)
	}
	return link, nil
}
