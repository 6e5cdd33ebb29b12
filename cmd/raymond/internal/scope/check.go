package scope

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/protocol/lint"
	"github.com/raymond-action/raymond-action/runner/shell"
)

// StartCheck checks a workflow before a run starts. Errors that lint finds forbid the start. With
// skipLint, only invalid definitions do, and other errors become warnings. StartCheck returns the
// warnings, one line each. It sets o.LoadOptions.
func (s *Scope) StartCheck(o lint.Options, skipLint bool) (warnings []string, err error) {
	o.LoadOptions = s.loadOptions()
	var wrong []protocol.Problem
	for _, f := range s.Lint(o) {
		switch {
		case f.Severity == lint.Warning, f.Severity == lint.Error && skipLint && !s.forbids(f.Problem):
			warnings = append(warnings, f.Problem.String())
		case f.Severity == lint.Error && !s.forbids(f.Problem):
			wrong = append(wrong, f.Problem)
		}
	}
	if len(s.problems)+len(wrong) > 0 {
		return nil, errors.Join(s.StartError, problem.OfWorkflow(s.Path, wrong))
	}
	return warnings, nil
}

// forbids reports whether a problem forbids the start even with skipLint, because it was found by Load.
func (s *Scope) forbids(p protocol.Problem) bool {
	return slices.ContainsFunc(s.problems, func(q protocol.Problem) bool {
		return q.File == p.File && q.Code == p.Code && q.Message == p.Message
	})
}

// Lint returns all findings about the workflow, including syntax errors that bash reports for its scripts.
func (s *Scope) Lint(o lint.Options) []lint.Finding {
	w := s.Workflow
	if w == nil || o.LoadOptions != s.loadOptions() {
		w, _ = protocol.Load(s.FS, o.LoadOptions)
	}
	var scripts []script // reachable from the entry; in a directory, also scripts that are marked as states
	if o.Platform == protocol.Unix && Platform() == protocol.Unix {
		reached := w.Chart().States()
		for _, name := range w.Names() {
			st, _ := w.State(name)
			leads := slices.Contains(reached, name)
			if strings.HasSuffix(strings.ToLower(name), ".sh") && len(st.Problems) == 0 && (leads || o.Entry == "" && st.Evidence.HasMarker) {
				scripts = append(scripts, script{st, leads})
			}
		}
	}
	read := make(chan []lint.Finding, 1) // bash takes as long as all other checks, so it runs in parallel
	go func() { read <- checkScripts(scripts) }()
	found := lint.Workflow(s.FS, o)
	if o.Platform == Platform() {
		found = append(found, missingBash(w)...)
	}
	found = append(found, <-read...)
	lint.Sort(found)
	return found
}

// findBash is shell.Bash. Tests replace it.
var findBash = shell.Bash

// missingBash returns a warning about the first state with done_when commands if this machine can't run
// the commands.
func missingBash(w *protocol.Workflow) []lint.Finding {
	for _, name := range w.Chart().States() {
		if st, ok := w.State(name); !ok || st.Policy.Convergence == nil {
			continue
		}
		if _, err := findBash(); err != nil {
			return []lint.Finding{{Severity: lint.Warning, Problem: protocol.Problem{
				File: name, Pos: protocol.Pos{Line: 1, Col: 1}, Code: "no-bash", Message: "done_when: " + err.Error(),
			}}}
		}
		break
	}
	return nil
}

// script is a script whose syntax bash checks.
type script struct {
	*protocol.State
	isReachable bool // reachable from the entry
}

// checkScripts returns a finding for each script with a syntax error. If bash can't be used, it returns a
// hint instead.
func checkScripts(scripts []script) []lint.Finding {
	var found []lint.Finding
	for _, s := range scripts {
		f, err := checkScript(s.State)
		if err != nil {
			return append(found, lint.Finding{Severity: lint.Hint, Problem: protocol.Problem{
				Code: "syntax", Message: "scripts are not checked: " + err.Error(), Hint: "the check needs /bin/bash",
			}})
		}
		if f == nil {
			continue
		}
		if !s.isReachable {
			f.Severity = lint.Warning
		}
		found = append(found, *f)
	}
	return found
}

const bash = "/bin/bash"

// checkScript makes bash parse a script without running it. It returns the first syntax error as a
// finding, or nil. It returns an error if bash can't be used.
func checkScript(st *protocol.State) (*lint.Finding, error) {
	const longest = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	args := []string{"-n"}
	if strings.Contains(st.Body, "extglob") {
		args = []string{"-O", "extglob", "-n"} // with -n, shopt commands in the script have no effect
	}
	cmd := exec.CommandContext(ctx, bash, args...)
	cmd.Env = []string{"LC_ALL=C"}
	cmd.Stdin = strings.NewReader(st.Body)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err == nil || !errors.As(err, &exit) {
		return nil, err
	}
	m := regexp.MustCompile(`(?m)line (\d+): (.*)$`).FindStringSubmatch(stderr.String())
	if m == nil {
		return nil, fmt.Errorf("%s: %w", problem.Shorten(strings.TrimSpace(stderr.String())), err)
	}
	line, _ := strconv.Atoi(m[1])
	lines := strings.Split(st.Body, "\n")
	line = min(max(line, 1), len(lines))
	f := &lint.Finding{Severity: lint.Error, Problem: protocol.Problem{
		File: st.Name, Pos: protocol.Pos{Line: line, Col: 1}, Code: "syntax", Message: "bash can't read this script: " + problem.Shorten(m[2]),
	}}
	if regexp.MustCompile(`(?m)^(exit|exec)\b`).MatchString(strings.Join(lines[:line-1], "\n")) {
		f.Severity = lint.Warning // an exit or exec before the line may make it unreachable
	}
	return f, nil
}
