package report

import (
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

const (
	maxVerdicts = 20 // verdicts of an agent that are listed
	maxOutputs  = 3  // of them, those whose command's output is shown
	maxOutput   = 4 << 10
)

// verdict is what came of an attempt of a state that has done_when.
type verdict struct {
	exec      *Exec
	state     string
	attempt   int
	isDone    bool
	durationS float64
	cost      state.Spent
	lack      string // why it is not done
	command   string // the first that failed
	output    string // the end of what it wrote
}

// verdicts are the last verdicts on an agent's attempts.
type verdicts struct{ recent[*verdict] }

// note keeps a verdict, and the outputs of the last ones that failed.
func (v *verdicts) note(x *Exec, stateName string, b *state.NodeAttempt) {
	v.add(newVerdict(x, stateName, b))
	outputs := 0
	for _, one := range slices.Backward(v.all) {
		if one.isDone {
			continue
		}
		if outputs++; outputs > maxOutputs {
			one.output = ""
		}
	}
}

func newVerdict(x *Exec, stateName string, b *state.NodeAttempt) *verdict {
	v := &verdict{
		exec: x, state: cut(stateName, widestCell), attempt: b.Attempt, isDone: b.Converged,
		durationS: b.DurationS, cost: b.Spent(), lack: b.Lack(),
	}
	if i := slices.IndexFunc(b.Results, func(r state.CommandResult) bool { return r.RC != 0 }); i >= 0 {
		v.command, v.output = brief(b.Results[i].Cmd), block(text.After(b.Results[i].Tail, maxOutput))
	}
	return v
}

// failed returns the last verdict if it is about an execution and says why that is not done;
// else nil.
func (v *verdicts) failed(x *Exec) *verdict {
	if len(v.all) == 0 || v.all[len(v.all)-1].exec != x || v.all[len(v.all)-1].isDone {
		return nil
	}
	return v.all[len(v.all)-1]
}

// String returns a verdict in Markdown.
func (v *verdict) String() string {
	switch {
	case v.isDone && v.attempt > 1:
		return fmt.Sprintf("done at attempt %d", v.attempt)
	case v.isDone:
		return "done"
	}
	return prose(v.lack, widestReason)
}
