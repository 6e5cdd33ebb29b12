package action

import (
	"errors"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// readPart reads what the jobs of a part have stored. Its error is a *state.FileError that names the
// artifact, or one of openPart.
func readPart(s *step, base *state.Run, f slots.PartFound) (state.Ran, error) {
	ran := state.Ran{Part: f.Part, Running: f.Running}
	if f.Running {
		return ran, nil
	}
	for i, stored := range f.All {
		run, err := openPart(s, stored)
		if err == nil {
			err = within(stored.Artifact.Name, f.Part.Check(base, run))
		}
		if err == nil && i == 0 {
			own, _ := run.Parts.Own()
			ran.Events, err = eventsAfter(filepath.Join(stored.Dir, session.EventsFile), own.Began.Events)
			err = within(stored.Artifact.Name, err)
		}
		if err != nil {
			return ran, err
		}
		ran.Runs = append(ran.Runs, run)
	}
	return ran, nil
}

// within names the artifact in a *state.FileError.
func within(artifact string, err error) error {
	var bad *state.FileError
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = artifact
	}
	return err
}

// eventsAfter returns the events that the log at path has with numbers above after. Its error is a
// *state.FileError, or one of the file.
func eventsAfter(path string, after int) ([]state.Event, error) {
	var events []state.Event
	for e, err := range report.Events(path) {
		var bad *state.FileError
		if errors.As(err, &bad) { // where the checkpoint was unpacked says nothing to anybody
			bad.Path, bad.Field = "", session.EventsFile+" "+bad.Field
		}
		if err != nil {
			return nil, err
		}
		if e.Seq > after {
			events = append(events, e)
		}
	}
	return events, nil
}

// appendEvents adds events to the log in a folder, which a checkpoint has brought: those of the
// run's last save, as far as the log lacks them, and then what was joined.
func appendEvents(dir string, run *state.Run, joined []state.Event) error {
	log, err := session.OpenLog(dir, run, nil, nil)
	if err != nil {
		return err
	}
	for _, e := range joined {
		err = errors.Join(err, log.Report(e))
	}
	return errors.Join(err, log.Close())
}
