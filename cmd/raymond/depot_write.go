package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// write makes the file of a checkpoint. At the end of a run the state is worth being
// stored without what can't be packed.
func (d *depot) write(ctx context.Context, f *os.File, img *image) (checkpoint.Written, error) {
	d.notes = nil
	work, err := d.snapshot(ctx, img)
	if err != nil {
		return checkpoint.Written{}, err
	}
	d.notes = append(d.notes, work.notes...)
	w, err := d.writeWhole(f, img, work)
	if err != nil && img.isLast && ctx.Err() == nil && !errors.Is(err, checkpoint.ErrTooLarge) {
		if d.work != "" { // it needs room
			err = errors.Join(err, os.RemoveAll(d.work))
			d.work = ""
		}
		w, err = d.writeState(f, img, work, err)
	}
	d.sessions = d.markSessions(img)
	return w, err
}

// writeWhole writes all that there is of a run.
func (d *depot) writeWhole(f *os.File, img *image, work work) (checkpoint.Written, error) {
	m := d.manifest(img)
	parts, err := img.logs()
	if err != nil {
		return checkpoint.Written{}, fmt.Errorf("read logs: %w", err)
	}
	parts = append(parts, checkpoint.Part{Name: "state.json", Data: img.state})
	if img.events.Path != "" {
		parts = append(parts, img.events)
	}
	if d.isOpen() {
		m.Transcripts = nil
		m.LeftOut = []checkpoint.LeftOut{
			{What: "transcripts", Held: len(img.transcripts) > 0, Why: checkpoint.NoKey}, {What: "workspace", Held: work.held, Why: checkpoint.NoKey},
		}
		work.parts = nil
		d.leftOut(m.LeftOut)
	} else {
		parts = append(parts, img.transcripts...)
	}
	if work.lost != "" && !d.isOpen() {
		m.LeftOut = append(m.LeftOut, checkpoint.LeftOut{What: "workspace", Held: true, Why: work.lost})
	}
	d.left = slices.DeleteFunc(slices.Clone(m.LeftOut), func(l checkpoint.LeftOut) bool { return !l.Held })
	parts = append(parts, work.parts...)
	hide := d.mask.Sparing(slices.Concat(img.dirs, work.names))
	return checkpoint.Write(f, checkpoint.Writing{Manifest: m, Parts: parts, Keys: d.keys, Mask: hide.Fill})
}

// writeState writes the state of a run alone, since the rest could not be packed.
func (d *depot) writeState(f *os.File, img *image, work work, why error) (checkpoint.Written, error) {
	m := d.manifest(img)
	m.Transcripts, d.left = nil, nil
	for what, held := range map[string]bool{"transcripts": len(img.transcripts) > 0, "workspace": work.held} {
		if held {
			d.left = append(d.left, checkpoint.LeftOut{What: what, Held: true, Why: checkpoint.Unpacked})
		}
	}
	slices.SortFunc(d.left, func(a, b checkpoint.LeftOut) int { return strings.Compare(a.What, b.What) })
	m.LeftOut = d.left
	w, err := checkpoint.Write(f, checkpoint.Writing{
		Manifest: m, Parts: []checkpoint.Part{{Name: "state.json", Data: img.state}}, Keys: d.keys, Mask: d.mask.Sparing(img.dirs).Fill,
	})
	if err != nil {
		return w, errors.Join(why, err)
	}
	d.lose("The checkpoint has the state alone, since the rest could not be packed: " + why.Error() + ".")
	return w, nil
}

// lose tells of something that could not be packed at the end of a run.
func (d *depot) lose(note string) {
	d.notes = append(d.notes, note)
	if d.warn != nil {
		d.warn(note)
	}
}

// leftOut says what a checkpoint that anybody may read lacks.
func (d *depot) leftOut(left []checkpoint.LeftOut) {
	for _, l := range left {
		if l.Held {
			d.notes = append(d.notes, "The checkpoint lacks the "+l.What+", since anybody may read artifacts of a public repository: "+
				"set `state-key` to have all of it stored, encrypted.")
		}
	}
}

// manifest is what identifies the next checkpoint.
func (d *depot) manifest(img *image) checkpoint.Manifest {
	m := d.origin
	m.Generation, m.Previous, m.Base = d.chain.Generation+1, d.chain.Digest, d.chain.Base
	m.WorkflowID, m.Status, m.Reason, m.Seq = img.manifest.WorkflowID, img.manifest.Status, img.manifest.Reason, img.manifest.Seq
	m.TotalUSD, m.Estimated = img.manifest.TotalUSD, img.manifest.Estimated
	m.Iterations, m.Created = img.manifest.Iterations, img.manifest.Created
	m.Transcripts = img.manifest.Transcripts
	m.States, m.Checkout, m.Input = d.chain.Began.States, d.chain.Began.Checkout, d.chain.Began.Input
	return m
}

// work is a snapshot of the workspace.
type work struct {
	parts []checkpoint.Part
	held  bool   // there was something beyond the commit of the checkout, or nobody knows
	lost  string // why it could not be stored; "" when it could
	notes []string
	names []string // that it can't do without
}

// packing is the part of the time for the last checkpoint that the workspace may take.
const packing = 0.6

// snapshot packs the work in the workspace. Work that is too large is left out:
// the rest of the run is worth being stored. At its end so is work that can't be
// packed, because the disk is full or the time is over.
func (d *depot) snapshot(ctx context.Context, img *image) (work, error) {
	if d.git == nil {
		return work{}, nil
	}
	inTime := ctx
	if at, ok := ctx.Deadline(); ok && img.isLast {
		var cancel context.CancelFunc
		inTime, cancel = context.WithTimeout(ctx, time.Duration(float64(time.Until(at))*packing))
		defer cancel()
	}
	w, err := d.pack(inTime, img)
	if err == nil || ctx.Err() != nil || !img.isLast {
		return w, err
	}
	w = work{held: true, lost: checkpoint.Unpacked}
	d.lose("The checkpoint lacks the work in the workspace, which could not be packed: " + err.Error() + ".")
	return w, nil
}

func (d *depot) pack(ctx context.Context, img *image) (work, error) {
	to, err := os.MkdirTemp(d.temp, "workspace-")
	if err != nil {
		return work{}, err
	}
	saved, err := d.git.Save(ctx, workspace.Saving{Dirs: img.dirs, Base: d.base, To: to, Last: d.work})
	if errors.Is(err, workspace.ErrTooLarge) {
		note := "The checkpoint lacks the work in the workspace: " + err.Error() + "."
		return work{held: true, lost: checkpoint.TooLarge, notes: []string{note}}, os.RemoveAll(to)
	}
	if err != nil {
		return work{}, errors.Join(fmt.Errorf("pack the workspace: %w", err), os.RemoveAll(to))
	}
	if d.work != "" {
		if err := os.RemoveAll(d.work); err != nil {
			return work{}, err
		}
	}
	d.work = to
	w := work{held: saved.Held, notes: saved.Notes}
	for _, name := range saved.Files {
		w.parts = append(w.parts, checkpoint.Part{Name: "workspace/" + name, Path: filepath.Join(to, name), Size: -1})
	}
	w.names, err = workspace.Names(to)
	return w, err
}
