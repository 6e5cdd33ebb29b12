package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Part is what jobs of a matrix have stored for a part of a run.
type Part struct {
	state.PartRun // Read sets Running, Load sets Runs and Events

	IsStored bool      // something is stored, which Read can download
	Notices  []string  // say, for users, which checkpoints could not be read and why; set by Read
	isMerged bool      // its results are in the run
	stored   []*Lookup // the newest checkpoint of each workflow run that ran the part, newest first
	read     func(context.Context) (slots.PartFound, error)
	here     *Lookup // the run itself
}

// Read downloads what is stored. The caller removes it.
func (p *Part) Read(ctx context.Context) error {
	found, err := p.read(ctx)
	p.Running, p.Notices = found.Running, found.Notices
	for _, f := range found.All {
		p.stored = append(p.stored, &Lookup{Found: *f, here: p.here.here, isListed: true})
	}
	return err
}

// Remove removes the downloaded files.
func (p *Part) Remove() {
	for _, l := range p.stored {
		l.Remove()
	}
}

// Newest returns the newest checkpoint of the part, without its run; nil for none.
func (p *Part) Newest() *Lookup {
	if len(p.stored) == 0 {
		return nil
	}
	return p.stored[0]
}

// Resume returns the newest checkpoint of the part, with the part's run, and removes the others.
func (p *Part) Resume() (l *Lookup, err error) {
	for _, older := range p.stored[1:] {
		older.Remove()
	}
	l = p.stored[0]
	if l.Run, err = readState(&l.Found); err == nil {
		err = p.Part.Check(p.here.Run, l.Run)
	}
	return l, err
}

// Load reads the runs of the part from the checkpoints, for a merge into the run. Its errors are
// *state.FileErrors that name the artifact, or errors of Relocate.
func (p *Part) Load(log Log) error {
	if p.Running {
		return nil
	}
	for i, l := range p.stored {
		var err error
		if l.Run, err = readState(&l.Found); err != nil {
			return err
		}
		if missing := l.Manifest.Missing(); l.Manifest.PartName() != "" && len(missing) > 0 {
			log.Warn(fmt.Sprintf("the part in %s was stored without its %s: %s", l.Artifact.Name, strings.Join(missing, " and "), strings.Join(l.Manifest.OmissionReasons(), "; ")))
			l.Run.ForgetConversations(func(string) bool { return true })
		}
		if err = l.Relocate(); err == nil {
			err = inArtifact(l.Artifact.Name, "state.json", p.Part.Check(p.here.Run, l.Run))
		}
		if err == nil && i == 0 {
			own, _ := l.Run.Parts.OwnPart()
			for e, bad := range report.Events(l.EventLog()) {
				if bad != nil {
					return inArtifact(l.Artifact.Name, session.EventsFile, bad)
				}
				if e.Seq > own.Start.Events {
					p.Events = append(p.Events, e)
				}
			}
		}
		if err != nil {
			return err
		}
		p.Runs = append(p.Runs, l.Run)
	}
	return nil
}

// Merge makes a run with the results of its parts the run that was found. Restore then also restores
// the work and the conversations of the parts. The merged run is not stored before its next step:
// until then, another job would merge the same parts into the same run.
func (l *Lookup) Merge(run *state.Run, events []state.Event, parts []*Part, isMerged []bool) error {
	log, err := session.OpenLog(l.Dir, l.Run, nil, nil) // adds the events of the run's last save that the log lacks
	if err != nil {
		return err
	}
	for _, e := range events {
		err = errors.Join(err, log.Report(e))
	}
	err = errors.Join(err, log.Close())
	for i, p := range parts {
		p.isMerged = isMerged[i]
		err = errors.Join(err, p.moveLogs(l.Dir))
	}
	l.Run, l.joined = run, parts
	return err
}

// moveLogs moves the logs of the part's agents into a directory.
func (p *Part) moveLogs(to string) error {
	if len(p.stored) == 0 {
		return nil
	}
	from := filepath.Join(p.stored[0].Dir, "logs")
	logs, _ := os.ReadDir(from)
	for _, log := range logs {
		dir := filepath.Join(to, "logs", log.Name())
		if !p.Part.MayContain(log.Name()) {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.RemoveAll(dir), files.Rename(filepath.Join(from, log.Name()), dir)); err != nil {
			return err
		}
	}
	return nil
}

// restoreBranches adds the work of the part as branches raymond/AGENT, which a script can merge: one
// branch for each agent that was handed over to the part, and for each agent forked in the part that
// has a directory.
func (p *Part) restoreBranches(ctx context.Context, c *Config) error {
	if len(p.stored) == 0 || !p.isMerged || c.Worktree == nil {
		return nil
	}
	run, branches := p.OwnRun(), map[string]string{}
	add := func(agent, dir string) {
		isHanded := slices.ContainsFunc(p.Part.Agents, func(h state.Handover) bool { return h.Agent == agent })
		if isHanded || dir != "" && p.Part.MayContain(agent) {
			branches["raymond/"+agent] = cmp.Or(dir, run.Dir)
		}
	}
	for _, e := range run.Ended {
		add(e.Agent, e.Dir)
	}
	for _, a := range run.Agents {
		add(a.ID, a.Dir)
	}
	newest := p.stored[0]
	notes, err := c.Worktree.Git.RestoreAsBranches(ctx, workspace.RestoreRequest{From: newest.workDir(), Dir: newest.where}, branches)
	return ReportRestored(c.Log, notes, err)
}
