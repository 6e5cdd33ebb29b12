package session

import (
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/traces"
)

// addTraces has the run exported, if the environment says where to. What is wrong with that is
// a note: no run fails because of it.
func (s *Session) addTraces(now time.Time) {
	u := &s.setup
	if u.Out.Traces.Environ == nil {
		return
	}
	r, err := traces.Open(u.Run, u.Resumed, traces.Options{
		Environ: u.Out.Traces.Environ, Version: u.Out.Traces.Version, Providers: s.providers(), Part: u.Others.Part, Now: now, Model: s.Events.Model, Note: s.note,
	})
	switch {
	case err != nil:
		s.note("traces: nothing is exported: " + err.Error())
	case r != nil:
		s.Config.Traced = true
		s.Events.Add("traces", r)
	}
}

// providers are those of the agent CLIs' models.
func (s *Session) providers() map[string]string {
	all := map[string]string{}
	for name, a := range s.Config.Agents {
		all[name] = a.Abilities().Provider
	}
	return all
}

// note prints a line for people.
func (s *Session) note(line string) {
	if hide := s.setup.Hide.Events; hide != nil {
		line = hide(line)
	}
	fmt.Fprintln(s.setup.Out.Stderr, "raymond: note: "+text.Escaped(line))
}
