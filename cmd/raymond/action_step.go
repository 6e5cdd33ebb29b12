package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// A step keeps what is its own in a folder of its own, never in the checkout:
// $RUNNER_TEMP/raymond/{job}-{step}-{n}. Steps inside a composite action all bear
// the name of the outer one, so n counts the main parts of that name in this job.
// It is the one thing that the post part is told by way of the runner.

// partState is the name under which n is kept.
const partState = "part"

// maxParts bounds n.
const maxParts = 9999

// stepFolders are the parent of the folders of steps, and the name of this one's
// without its number.
func stepFolders(getenv func(string) string) (parent, name string) {
	temp := cmp.Or(getenv("RUNNER_TEMP"), os.TempDir())
	name = fileName(cmp.Or(getenv("GITHUB_JOB"), "job")) + "-" + fileName(cmp.Or(getenv("GITHUB_ACTION"), "step"))
	return filepath.Join(temp, "raymond"), name
}

// makeOwn makes the folder of a main part, and keeps its number for post.
func (x *action) makeOwn() error {
	parent, name := stepFolders(x.app.Getenv)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "RUNNER_TEMP", What: err.Error()}
	}
	for n := 1; n <= maxParts; n++ {
		x.own = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
		err := os.Mkdir(x.own, 0o700)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue // an earlier main part's
		case err != nil:
			return &problem.Problem{Class: problem.ClassRuntime, Where: "RUNNER_TEMP", What: err.Error()}
		case x.files == nil || x.app.Getenv("GITHUB_STATE") == "":
			return nil // not in a job
		}
		if err := x.files.SaveState(partState, strconv.Itoa(n)); err != nil {
			return &problem.Problem{Class: problem.ClassRuntime, Where: "GITHUB_STATE", What: err.Error()}
		}
		return nil
	}
	return &problem.Problem{Class: problem.ClassRuntime, Where: parent, What: fmt.Sprintf("has %d folders of this step already", maxParts)}
}

// leftOwn is the folder that the main part of this step has made; "" when it came
// to none.
func leftOwn(getenv func(string) string) string {
	n, err := strconv.Atoi(getenv("STATE_" + partState))
	if err != nil || n < 1 || n > maxParts {
		return ""
	}
	parent, name := stepFolders(getenv)
	return filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
}

// fileName replaces what file names of some system can't hold.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '-'
		}
		return r
	}, s)
}

// stepNote is what a step has to do with a run: the post part handles that one and
// nothing else.
type stepNote struct {
	Key        string `json:"key"`
	WorkflowID string `json:"workflow_id"`
	// Lost says that the key is another's, so that nothing of the run is stored.
	Lost bool `json:"lost,omitempty"`
	// Claim is the id of this step's claim of the key; "" for none.
	Claim string `json:"claim,omitempty"`
}

// Its name is not one that a state file could have.
const stepFile = "step.note"

// noteRun keeps which run this step drives, before there is anything of it.
func (x *action) noteRun(id string) error {
	x.note.Key, x.note.WorkflowID = x.key, id
	return x.keepNote()
}

func (x *action) keepNote() error { return writeNote(filepath.Join(x.own, stepFile), x.note) }

// chooseKey finds the identity of the run.
func (x *action) chooseKey() error {
	if x.in.Key != "" {
		x.key = x.in.Key
		return nil
	}
	x.wide = job.DefaultKey(x.app.Getenv, x.event)
	x.key = job.LegKey(x.wide, x.in.Matrix)
	if x.in.Mode == job.ModeRun && job.IsCalled(x.app.Getenv, x.in.JobWorkflow) {
		return problem.Usage("input key", "is missing: in a reusable workflow there is no default, since two calls of it can't be told apart",
			"let the caller give one, as by an input of the workflow")
	}
	return nil
}

// reserveKey sees to it that two steps of a job don't share a key unawares: a
// default one that an earlier step has used is a mistake.
func (x *action) reserveKey() error {
	parent, _ := stepFolders(x.app.Getenv)
	var parts []string
	for _, name := range []string{"GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB"} {
		parts = append(parts, x.app.Getenv(name))
	}
	sum := sha256.Sum256([]byte(strings.Join(append(parts, x.in.Matrix, x.key), "\x00")))
	dir := filepath.Join(parent, "keys")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "RUNNER_TEMP", What: err.Error()}
	}
	err := os.Mkdir(filepath.Join(dir, hex.EncodeToString(sum[:16])), 0o700)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist) && x.in.Key != "":
		return nil
	case errors.Is(err, fs.ErrExist):
		return problem.Usage("input key", fmt.Sprintf("is missing: an earlier step of this job has used the default, %q", x.key),
			"name a key of its own, or this one to go on with that step's run")
	}
	return &problem.Problem{Class: problem.ClassRuntime, Where: "RUNNER_TEMP", What: err.Error()}
}
