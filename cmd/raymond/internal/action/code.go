package action

import (
	"fmt"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/owncode"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// takeCode remembers the action's own code beside whatever the step does next. The
// function that it returns waits for that.
func takeCode(s *step) func() (*owncode.Code, error) {
	take := sync.OnceValues(func() (*owncode.Code, error) {
		program, err := s.env.Process.Program()
		if err != nil {
			return nil, machineProblem("the program", err)
		}
		code, err := owncode.Take(program, s.getenv(owncode.Variable))
		if err != nil {
			return nil, machineProblem("the action's own files", err)
		}
		return code, nil
	})
	go func() { _, _ = take() }()
	return take
}

// maxNamed is how many names a text has.
const maxNamed = 5

// listed names the first of many.
func listed(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// checkCode puts the action's own code back as it was. This is the last moment for it:
// the post part runs that code, and is given the secrets of the job. Agents are gone.
func checkCode(code *owncode.Code) []*problem.Problem {
	if code == nil {
		return nil // nothing of a workflow has run
	}
	defer code.Close()
	changed := code.Changed()
	if len(changed) == 0 {
		return nil
	}
	p := &problem.Problem{
		Class: problem.ClassDenied, Where: listed(changed), What: "an agent or a script changed the code of this action, which the post part of the step runs; it was put back",
		Hint: "look at what it ran before you trust the later steps of this job",
	}
	err := code.PutBack(changed)
	if left := code.Changed(); err == nil && len(left) > 0 {
		err = fmt.Errorf("%s is not what it was", left[0])
	}
	if err != nil {
		p.What = "an agent or a script changed the code of this action, which the post part of the step runs, and it can't be put back: " + err.Error()
	}
	return []*problem.Problem{p}
}
