package protocol

import "strings"

// jobName matches valid names of jobs. They have the same syntax as in GitHub Actions.
var jobName = pattern(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// IsJobName reports whether a text is a valid name of a job.
func IsJobName(name string) bool { return jobName().MatchString(name) }

// readJob reads the key job, which names the job that runs the state.
func (v value) readJob() {
	text, ok := v.text()
	switch {
	case !ok:
	case !IsJobName(text):
		v.problem("wrong-value", "job is %s, which can't be the name of a job", Quote(text)).Hint =
			"write at most 64 letters, digits, _ and -, beginning with a letter or _"
	default:
		v.state.Job = text
	}
}

// readOnComment reads the key on_comment, which names the state at which a comment continues a
// completed run.
func (v value) readOnComment() {
	if text, ok := v.text(); ok {
		v.state.OnComment = strings.TrimSpace(text)
		v.refer(text)
	}
}

// JobOf returns the job that runs a state. It is MainJob if the state names no job or doesn't
// exist.
func (w *Workflow) JobOf(state string) string {
	if s, ok := w.states[state]; ok && s.Job != "" {
		return s.Job
	}
	return MainJob
}

// HasJoin reports whether any state of the workflow shows a join in its text or allows one in
// its policy. If it returns false, an agent may still write a join, although no prompt mentions
// one.
func (w *Workflow) HasJoin() bool { return w.hasJoin }

// mayJoin reports whether the state shows a join in its text or allows one in its policy.
func (s *State) mayJoin() bool {
	if s.Policy.Transitions.Restricted {
		return s.Policy.Transitions.CountsVerb(Join)
	}
	return strings.Contains(s.Body, "<"+string(Join))
}
