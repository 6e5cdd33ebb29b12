package action

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

// differences reports the changes since the run was stored.
func differences(log *jobLog, input string, l lookup, base string) {
	was, id := l.manifest, l.was.WorkflowID
	if l.why != "" {
		log.say(l.why)
	}
	if was.Checkout != "" && base != "" && was.Checkout != base {
		log.say(fmt.Sprintf("run %s goes on at %s, on the work begun at %s", id, slots.Short(base), slots.Short(was.Checkout)))
	}
	causes := strings.Join(was.OmissionReasons(), "; ")
	for _, what := range was.Missing() {
		switch {
		case l.how == shows && what != "workspace": // showing a run needs no conversations
		case what == "transcripts":
			log.say(fmt.Sprintf("the conversations of %s are missing and start anew: %s", strings.Join(talkers(l.was), ", "), causes))
		default:
			log.say("the work in the workspace is missing, so agents see the checkout without it: " + causes)
		}
	}
	if input != "" && was.Input != digestOf(input) {
		text := "the input is ignored: run " + id + " continues with its original input; resume: never starts a new run"
		log.differs = append(log.differs, sentence(text))
		log.warn(text)
	}
}

// takeMeta sets the given template variables in a run. They apply from its next state on.
func takeMeta(log *jobLog, given map[string]string, run *state.Run) {
	meta := map[string]string{}
	maps.Copy(meta, run.Meta)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if was, ok := meta[name]; !ok || was != given[name] {
			changed = append(changed, name)
		}
		meta[name] = given[name]
	}
	if len(changed) > 0 {
		run.Meta = meta
		log.say("meta has changed and applies from the next state on: " + strings.Join(changed, ", "))
	}
}

// talkers returns the names of the agents that have a conversation to continue.
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
