package action

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// differences says what a run that is resumed finds different from what it left.
func differences(s *step, e *earlierRun, base string, r *remarks) {
	was := beginningOf(s, e)
	if e.why != "" {
		r.say(s, e.why)
	}
	if was.Checkout != "" && base != "" && was.Checkout != base {
		r.say(s, fmt.Sprintf("run %s goes on at %s, on the work begun at %s", e.run.WorkflowID, shortCommit(base), shortCommit(was.Checkout)))
	}
	if e.found != nil {
		m := e.found.Manifest
		causes := strings.Join(m.Causes(), "; ")
		for _, what := range m.Lacks() {
			switch {
			case e.isOver && what != "workspace": // nobody needs a conversation
			case what == "transcripts":
				r.say(s, fmt.Sprintf("the conversations of %s are missing, and start again: %s", strings.Join(talkers(e.run), ", "), causes))
			default:
				r.say(s, "the work in the workspace is missing, and agents find the checkout as it is: "+causes)
			}
		}
	}
	if s.in.Input != "" && was.Input != digestOf(s.in.Input) {
		text := "the input is not taken: run " + e.run.WorkflowID + " continues with the one that it began with; resume: never starts a new run"
		r.differs = append(r.differs, sentence(text))
		s.voice.warn(text)
	}
}

// takeMeta gives a run the template variables that are given again: from its next
// state on.
func takeMeta(s *step, run *state.Run, r *remarks) {
	if len(s.options.Meta) == 0 || maps.Equal(run.Meta, s.options.Meta) {
		return
	}
	meta := maps.Clone(run.Meta)
	if meta == nil {
		meta = map[string]string{}
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(s.options.Meta)) {
		if was, ok := meta[name]; !ok || was != s.options.Meta[name] {
			changed = append(changed, name)
		}
		meta[name] = s.options.Meta[name]
	}
	run.Meta = meta
	if len(changed) > 0 {
		r.say(s, "meta has changed, and counts from the next state on: "+strings.Join(changed, ", "))
	}
}

// talkers names the agents that have a conversation to continue.
func talkers(run *state.Run) []string {
	var names []string
	for _, a := range run.Agents {
		if a.Session != nil {
			names = append(names, a.ID)
		}
	}
	if len(names) == 0 {
		return []string{"agents"}
	}
	return names
}

func shortCommit(id string) string { return id[:min(7, len(id))] }
