package insight

import "github.com/raymond-action/raymond-action/runner/report"

// waitsOf are the times in which agents waited, as programs read them.
func waitsOf(m *report.Model) []Wait {
	all := make([]Wait, len(m.Waits))
	for i, w := range m.Waits {
		all[i] = Wait{
			Agent: w.Agent, State: w.State, For: string(w.For), From: w.Since, To: w.To, Job: w.Job, Number: w.Number, Question: w.Question, By: w.By,
		}
	}
	return all
}
