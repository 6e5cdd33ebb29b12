package sitetest

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// RecordIdle records the saved run while no command is driving it. Start calls it.
func (s *Site) RecordIdle() {
	s.T.Helper()
	if s.Tampered != "" {
		return
	}
	run, err := s.read()
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		s.T.Errorf("the state at rest: %v", err)
		return
	}
	if run == nil && len(s.idleMoments) == 0 {
		return // the run is about to start
	}
	s.idleMoments = append(s.idleMoments, invarianttest.IdleMoment{Run: run, Effects: len(invarianttest.ParseEffects(s.Lines("effects")))})
}

// read returns the saved run of the site, or an error if it is missing or invalid.
func (s *Site) read() (*state.Run, error) { return journal.Read(s.StateDir(), RunID) }

// Evidence returns the evidence of the run: its state, events, effects, processes and temporary files.
func (s *Site) Evidence() invarianttest.Evidence {
	s.T.Helper()
	run, err := s.read()
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		s.T.Errorf("the state in the end: %v", err)
	}
	l := invarianttest.Evidence{
		Run: run, Events: s.Events(), Effects: invarianttest.ParseEffects(s.Lines("effects")), Undisturbed: s.Undisturbed, IdleMoments: s.idleMoments,
		TempFiles: Temporary(s.StateDir()),
	}
	for _, pid := range s.Processes() {
		l.Processes = append(l.Processes, Describe([]int{pid}))
	}
	return l
}

// temporary are the prefixes of names of temporary files and folders.
var temporary = []string{"checkpoint-", "workspace-", "work-", "git-", "repo-", "claim-", "raymond-restore-", "raymond-past-", "raymond-git-"}

// Temporary lists the temporary files and folders below a folder.
func Temporary(dir string) []string {
	var list []string
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		isOne := func(prefix string) bool { return strings.HasPrefix(filepath.Base(path), prefix) }
		if err == nil && (strings.HasSuffix(path, ".tmp") || slices.ContainsFunc(temporary, isOne)) {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// check checks the invariants when the test ends.
func (s *Site) check() {
	if !Exists(s.StateFile()) && len(s.idleMoments) == 0 || s.Tampered != "" || s.T.Failed() {
		return
	}
	invarianttest.Want(s.T, s.Evidence())
}
