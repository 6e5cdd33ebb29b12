package slots

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// Named identifies one checkpoint. One job passes it to the next as an output, which other jobs
// that store artifacts can't change.
type Named struct {
	WorkflowID string // of the run
	Generation int    // from 1
	Digest     string // of the manifest
}

// namedForm matches the text form of a Named.
var namedForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*):([1-9][0-9]{0,8}):(sha256:[0-9a-f]{64})$`) })

// String returns the text form, on one line, which ParseNamed reads; "" for the zero value. The
// text is opaque to users who pass it on.
func (n Named) String() string {
	if n == (Named{}) {
		return ""
	}
	return fmt.Sprintf("%s:%d:%s", n.WorkflowID, n.Generation, n.Digest)
}

// ParseNamed reads the result of Named.String. An empty text is the zero value.
func ParseNamed(text string) (Named, error) {
	if text == "" {
		return Named{}, nil
	}
	parts := namedForm().FindStringSubmatch(text)
	if parts == nil || !state.ValidID(parts[1]) {
		return Named{}, errors.New("is not a value of the output state-digest")
	}
	n, err := strconv.Atoi(parts[2])
	return Named{WorkflowID: parts[1], Generation: n, Digest: parts[3]}, err
}

// checkFollows returns why a checkpoint is neither the required one nor a later one of the same
// run, or "" if it is. m is nil if no checkpoint was found.
func (f Facts) checkFollows(m *checkpoint.Manifest) string {
	n, what := f.Follows, ""
	switch {
	case n == (Named{}):
		return ""
	case m == nil:
		what = "there is none"
	case m.WorkflowID != n.WorkflowID:
		what = "the newest checkpoint is of run " + m.WorkflowID
	case m.Generation < n.Generation:
		what = fmt.Sprintf("the newest one that exists is checkpoint %d: an older one was stored again", m.Generation)
	case m.Generation == n.Generation && f.Digest != n.Digest, m.Generation == n.Generation+1 && m.Previous != n.Digest:
		what = fmt.Sprintf("a different checkpoint %d is stored, made from other work", m.Generation)
	default:
		return ""
	}
	return fmt.Sprintf("the step must continue from checkpoint %d of run %s or a later one, but %s", n.Generation, n.WorkflowID, what)
}

// followsHint is the advice for a checkpoint that does not follow the required one.
const followsHint = "find out who may have stored or deleted artifacts of this workflow run; then delete the artifacts of this key and start a new run with resume: never, " +
	"or, if the checkpoint is the right one, run again without the input follows"
