package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// driveLocal is drive for a run that is kept in a folder of this machine.
func (x *action) driveLocal(ctx context.Context) error {
	run, err := x.findLocal()
	if err != nil {
		return err
	}
	t, err := x.takeLocal(run)
	if err != nil {
		return err
	}
	return x.carryOut(ctx, t, func(d *drive) error {
		return writeNote(x.fileOfRun(d.run.WorkflowID, localFile), localNote{Key: x.key})
	})
}

// findLocal returns the newest run of this key in the state folder, or the one
// that the input names; nil when there is none.
func (x *action) findLocal() (*state.Run, error) {
	if x.in.Resume == job.ResumeNever {
		return nil, nil
	}
	ids, err := state.List(x.dir)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		x.tellOldLayout()
	}
	var newest *state.Run
	for _, id := range ids {
		if id != x.in.Resume && !x.isOfKey(id) {
			continue
		}
		run, err := state.Read(x.dir, id)
		if err != nil {
			return nil, err
		}
		if newest == nil || run.Created.After(newest.Created) {
			newest = run
		}
	}
	return newest, nil
}

// localDir is where the runs of this repository are kept in the state folder: no
// other's are ever taken up.
func (x *action) localDir() (string, error) {
	root := x.in.StateDir
	if !filepath.IsAbs(root) {
		root = filepath.Join(x.top, root)
	}
	owner, name, ok := strings.Cut(x.event.Repository.Name, "/")
	if !ok || fileName(owner) != owner || fileName(name) != name || !filepath.IsLocal(owner) || !filepath.IsLocal(name) {
		return "", problem.Usage("GITHUB_REPOSITORY", fmt.Sprintf("%q is no repository of the form owner/name", x.event.Repository.Name),
			"store: local keeps the runs of each repository apart")
	}
	return filepath.Join(root, owner, name), nil
}

// isOfKey reports whether a run in the state folder has the key of this step. Ids
// alone don't tell keys apart that differ in more than letters and digits, or in
// what is cut off.
func (x *action) isOfKey(id string) bool {
	if len(id) < 8 || id != job.WorkflowID(x.key, id[len(id)-8:]) {
		return false
	}
	var kept localNote
	err := readNote(x.fileOfRun(id, localFile), &kept)
	return err != nil || kept.Key == x.key
}

// localNote says whose a run in the state folder is.
type localNote struct {
	Key string `json:"key"`
}

const localFile = "key.json"

// tellOldLayout says that runs lie where an older release kept them: of which
// repository they are nothing tells.
func (x *action) tellOldLayout() {
	root := filepath.Dir(filepath.Dir(x.dir))
	ids, err := state.List(root)
	if err != nil || len(ids) == 0 {
		return
	}
	x.warn(fmt.Sprintf("the state folder has %s of an older release, such as %s, of which nothing tells the repository: none is taken up; "+
		"move the files of one that is this repository's to %s", state.Count(len(ids), "run"), ids[0], x.dir))
}

// takeLocal judges a run in the state folder as if it came from a checkpoint
// that lacks nothing.
func (x *action) takeLocal(run *state.Run) (*taken, error) {
	facts := x.facts()
	facts.RunStatus = "completed" // who drives it holds its lock
	if x.in.Resume == job.ResumeNever || run == nil && x.in.Resume == job.ResumeAuto {
		return nil, nil
	}
	var m *checkpoint.Manifest
	if run != nil {
		p := &run.Progress
		m = &checkpoint.Manifest{
			WorkflowID: run.WorkflowID, Status: p.Status, Reason: p.Reason, Seq: p.Seq, TotalUSD: p.TotalUSD, Estimated: run.Spent().Estimated, Iterations: p.Iterations,
			Number: x.event.Number, // the key has it
		}
		x.measure(&facts, run)
	}
	return x.judged(&taken{run: run}, slots.Decide(m, facts))
}
