package action

import (
	"context"
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// refusal says why a prompt state is refused.
func refusal(name string) string {
	return fmt.Sprintf("the prompt state %s is refused: this step has prompts: false", name)
}

// checkPrompts reports the prompt states of the jobs of this step that agents are in, or
// return to, if the step refuses prompts. Nothing is started then.
func checkPrompts(s *step, b *readyRun) error {
	if !s.in.NoPrompts {
		return nil
	}
	for _, p := range b.run.Places() {
		st, ok := b.flow.Workflow.State(p.State)
		if ok && st.Kind == protocol.Prompt && slices.Contains(s.options.Jobs, b.flow.Workflow.JobOf(p.State)) {
			return &problem.Problem{Class: problem.ClassDenied, Where: b.run.WorkflowID, What: refusal(p.State),
				Hint: "run the state in a job with prompts, which its job: names"}
		}
	}
	return nil
}

// noPrompts is the backend of a step that refuses prompts, however the run comes to one.
type noPrompts struct{}

// Run implements runner.Backend.
func (noPrompts) Run(_ context.Context, o runner.Order, _ func(runner.Progress)) (runner.Answer, error) {
	return runner.Answer{ExitCode: -1, Cost: state.Cost{Silent: true}}, &runner.Failure{Class: runner.Denied, Message: refusal(o.State)}
}
