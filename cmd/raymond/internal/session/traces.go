package session

import (
	"time"

	"github.com/raymond-action/raymond-action/runner/traces"
)

// addTraces exports traces of the run if the environment names a destination. If that fails, it prints a
// note, and the run continues.
func (s *Session) addTraces(now time.Time) {
	u := &s.setup
	if u.TraceEnviron == nil {
		return
	}
	providers := map[string]string{}
	for name, a := range s.Config.Agents {
		providers[name] = a.Abilities().Provider
	}
	r, err := traces.Open(u.Run, u.Resumed, traces.Options{
		Environ: u.TraceEnviron, Version: u.Version, Providers: providers, Part: u.Config.Part, Now: now, Model: s.Events.Model, Note: s.note,
	})
	switch {
	case err != nil:
		s.note("traces: nothing is exported: " + err.Error())
	case r != nil:
		s.Config.Traced = true
		s.Events.Add("traces", r)
	}
}
