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

// Named names one checkpoint. One job hands it to the next by a way that nobody who
// stores artifacts can change.
type Named struct {
	WorkflowID string // of the run
	Generation int    // from 1
	Digest     string // of the manifest
}

// namedForm is how that looks as text.
var namedForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*):([1-9][0-9]{0,8}):(sha256:[0-9a-f]{64})$`) })

// String returns the name as text on one line, which ParseNamed reads; "" for the zero
// value. Who passes it on needs to know nothing of what is in it.
func (n Named) String() string {
	if n == (Named{}) {
		return ""
	}
	return fmt.Sprintf("%s:%d:%s", n.WorkflowID, n.Generation, n.Digest)
}

// ParseNamed reads what Named.String returns. An empty text is the zero value.
func ParseNamed(text string) (Named, error) {
	if text == "" {
		return Named{}, nil
	}
	parts := namedForm().FindStringSubmatch(text)
	if parts == nil || !state.ValidID(parts[1]) {
		return Named{}, errors.New("is not what the output state-digest has")
	}
	n, err := strconv.Atoi(parts[2])
	return Named{WorkflowID: parts[1], Generation: n, Digest: parts[3]}, err
}

// checkFollows returns why a checkpoint is neither the one that the job was told of nor
// a later one of the same run; "" if it is. m is nil where none was found.
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
		what = fmt.Sprintf("the newest one that is there is checkpoint %d: somebody stored an older one again", m.Generation)
	case m.Generation == n.Generation && f.Digest != n.Digest, m.Generation == n.Generation+1 && m.Previous != n.Digest:
		what = fmt.Sprintf("what is stored is another checkpoint %d, made from other work", m.Generation)
	default:
		return ""
	}
	return fmt.Sprintf("checkpoint %d of run %s was to be resumed, or a later one, but %s", n.Generation, n.WorkflowID, what)
}

// followsHint says what to do about a checkpoint that was not to be resumed.
const followsHint = "find out who may have stored or deleted artifacts of this workflow run; then delete the artifacts of this key and start anew with resume: never, " +
	"or, if the checkpoint is the right one, run again without the input follows"
