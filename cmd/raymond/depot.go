package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/state"
)

// depot makes checkpoints of a run and stores them as artifacts. After it is set
// up only the saver uses it.
type depot struct {
	slots  *slots.Slots
	keys   *checkpoint.Keys
	mask   *secrets.Set
	git    *workspace.Git // nil: work in the workspace is not stored
	base   string         // the commit that the job was checked out at
	isOpen func() bool    // anybody may read what is stored, and there is no key
	dir    string         // of the run's own files: the chain is noted there
	temp   string         // where checkpoints are made
	origin checkpoint.Manifest
	chain  chain

	saver *slots.Saver[*image]
	check func(context.Context) error // whether the key is still the run's; nil for nothing to check
	// standing brings what stood in the slots when a new run began; nil when that
	// is known.
	standing chan slotted
	service  slots.Service
	query    slots.Query
	work     string       // folder of the last snapshot of the workspace, "" for none
	warn     func(string) // tells people at once; nil for nobody
	notes    []string     // what the last checkpoint lacks, for people
	sessions map[string]leftSession
	left     []checkpoint.LeftOut // of what the last checkpoint lacks, what there was
}

// chain is where the sequence of a run's checkpoints stands. It is kept in a
// file, so that the post part of the step can add to it.
type chain struct {
	Generation int              `json:"generation"` // of the last checkpoint; 0: none yet
	Digest     string           `json:"digest"`     // of it
	Base       *checkpoint.Base `json:"base,omitempty"`
	Seq        int              `json:"seq"` // of the run in it
	Status     state.Status     `json:"status"`
	Began      began            `json:"began"`
	Name       string           `json:"name"` // of the artifact
	Stored     int              `json:"stored"`
	// Existing are the artifacts that this part of the run may replace.
	Existing []artifacts.Artifact `json:"standing"`
	// Sending is the digest of an archive whose store was begun, and of which it is
	// not known whether it has arrived; "" for none.
	Sending string `json:"sending,omitempty"`
	// Sessions are the conversations that the run needs, as this part of it has left
	// them; nil before its end is stored.
	Sessions map[string]leftSession `json:"sessions,omitempty"`
}

const chainFile = "checkpoint.json"

// maxChain bounds what is read of such a file, in bytes.
const maxChain = 1 << 20

func readChain(dir string) (c chain, err error) {
	data, _, err := files.Read(filepath.Join(dir, chainFile), maxChain)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, &state.FileError{Path: filepath.Join(dir, chainFile), What: err.Error()}
	}
	return c, nil
}

func (d *depot) note() error { return writeNote(filepath.Join(d.dir, chainFile), d.chain) }

// slotted is what stands in the slots.
type slotted struct {
	list []artifacts.Artifact
	err  error
}

// ask begins to find out what stands in the slots.
func (d *depot) ask(ctx context.Context) {
	answer := make(chan slotted, 1)
	d.standing = answer
	go func() {
		f := slots.Finder{Service: d.service}
		list, err := f.Existing(ctx, d.query)
		answer <- slotted{list, err}
	}()
}

// adopt takes over what stood in the slots when a new run began.
func (d *depot) adopt(ctx context.Context) error {
	if d.standing == nil {
		return nil
	}
	select {
	case s := <-d.standing:
		if s.err != nil {
			d.ask(context.WithoutCancel(ctx))
			return s.err
		}
		d.standing, d.chain.Existing = nil, s.list
		d.slots.Adopt(s.list)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// save stores an image as the next generation.
func (d *depot) save(ctx context.Context, img *image) (slots.Result, error) {
	if d.check != nil {
		if err := d.check(ctx); err != nil {
			return slots.Result{}, err
		}
	}
	if err := d.adopt(ctx); err != nil {
		return slots.Result{}, err
	}
	temp, err := os.MkdirTemp(d.temp, "checkpoint-")
	if err != nil {
		return slots.Result{}, err
	}
	defer os.RemoveAll(temp)
	f, err := os.Create(filepath.Join(temp, "checkpoint.zip"))
	if err != nil {
		return slots.Result{}, err
	}
	defer f.Close()
	written, err := d.write(ctx, f, img)
	if err != nil {
		return slots.Result{}, err
	}
	if err := d.sending(f, written.Size); err != nil {
		return slots.Result{}, err
	}
	a, err := d.slots.Store(ctx, written.Manifest.Generation, f, written.Size)
	if err != nil {
		return slots.Result{}, err
	}
	return slots.Result{Store: a.Name, SeqStored: written.Manifest.Seq, Bytes: written.Size}, d.stored(a, written)
}

// sending notes what is about to be stored: another process may have to find out
// whether it arrived.
func (d *depot) sending(f *os.File, size int64) error {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return err
	}
	d.chain.Sending = fmt.Sprintf("sha256:%x", h.Sum(nil))
	return d.note()
}

// stored notes that a checkpoint is where a later job finds it.
func (d *depot) stored(a artifacts.Artifact, w checkpoint.Written) error {
	c := &d.chain
	c.Generation, c.Digest, c.Seq, c.Status = w.Manifest.Generation, w.Digest, w.Manifest.Seq, w.Manifest.Status
	c.Name, c.Sending, c.Stored = a.Name, "", d.slots.Stored()
	c.Existing, c.Sessions = append(c.Existing, a), d.sessions
	return d.note()
}

// origin is what a checkpoint says of the job that made it.
func (x *action) origin() checkpoint.Manifest {
	number := func(name string) int64 {
		n, err := strconv.ParseInt(x.app.Getenv(name), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return checkpoint.Manifest{
		RepositoryID: x.event.Repository.ID, Repository: x.event.Repository.Name, Workflow: x.workflowFile(), Key: x.key,
		RunID: number("GITHUB_RUN_ID"), RunAttempt: max(1, int(number("GITHUB_RUN_ATTEMPT"))), Job: x.app.Getenv("GITHUB_JOB"),
		Runner: x.app.Getenv("RUNNER_NAME"), IntervalMS: x.in.CheckpointInterval.Milliseconds(),
		Event: x.event.Name, Number: x.event.Number, Places: x.placesHere(), Program: version, Ended: x.after,
	}
}
