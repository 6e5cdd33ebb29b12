package command

import (
	"io"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// Recorded returns the answer of an invocation whose output was recorded, as in a debug folder:
// what Run returned for it when the program ended by itself with code 0.
func Recorded(r io.Reader) (runner.Answer, *runner.Failure, error) {
	s := newStream(runner.Order{}, nil)
	if _, err := io.Copy(s, r); err != nil {
		return runner.Answer{}, nil, err
	}
	s.flush()
	a, f := s.answer(proc.Exit{})
	return a, f, nil
}
