package main

import (
	"context"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner/checkpoint"
	"github.com/raymond-action/raymond-action/runner/keep"
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
	return x.carryOut(ctx, t, func(*drive) error { return nil })
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
	var newest *state.Run
	for _, id := range ids {
		if id != x.in.Resume && (len(id) < 8 || id != job.WorkflowID(x.key, id[len(id)-8:])) {
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

// takeLocal judges a run in the state folder as if it came from a checkpoint
// that lacks nothing.
func (x *action) takeLocal(run *state.Run) (*taken, error) {
	facts := keep.Facts{
		Mode: x.in.Resume, InThisRun: true, Number: x.event.Number, AllowChanged: x.in.AllowChangedWorkflow,
	}
	if x.in.Resume == job.ResumeNever || run == nil && x.in.Resume == job.ResumeAuto {
		return nil, nil
	}
	var m *checkpoint.Manifest
	if run != nil {
		p := &run.Progress
		m = &checkpoint.Manifest{
			WorkflowID: run.WorkflowID, Status: p.Status, Reason: p.Reason, Seq: p.Seq, TotalUSD: p.TotalUSD, Iterations: p.Iterations,
			Number: x.event.Number, // the key has it
		}
		x.measure(&facts, run)
	}
	return x.judged(&taken{run: run}, keep.Judge(m, facts))
}
