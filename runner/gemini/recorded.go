package gemini

import (
	"io"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// Recorded returns the answer of an invocation whose output was recorded, as in a debug folder:
// what Run returned for it when the CLI ended by itself with code 0 and each answer of the API
// was whole.
func Recorded(r io.Reader) (runner.Answer, *runner.Failure, error) {
	s := newStream(runner.Order{}, nil)
	if _, err := io.Copy(s, r); err != nil {
		return runner.Answer{}, nil, err
	}
	s.flush()
	answer, failure := s.final(proc.Exit{}, "")
	if failure != nil && s.answer.early == nil && s.answer.result == nil {
		failure.Message = "no result" // how the CLI ended is not known
	}
	return answer, failure, nil
}
