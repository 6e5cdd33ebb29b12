package action

import (
	"sync"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// stepNote is what a step has to do with a run: the post part handles that run and
// nothing else. It is safe for use by several goroutines.
type stepNote struct {
	mu    sync.Mutex // guards all, and the file
	file  string
	seals *checkpoints.Seals
	data  noteData
}

// noteData is a step's note as it is written.
type noteData struct {
	Key        string `json:"key"`
	WorkflowID string `json:"workflow_id"`
	// Part is the part of a matrix that the step runs; nil for the run itself.
	Part *state.Part `json:"part,omitempty"`
	// Mark is that of the run's processes; "" before there is a run.
	Mark string `json:"mark,omitempty"`
	// Lost says that the key is another's, so that nothing of the run is stored.
	Lost bool `json:"lost,omitempty"`
	// Subject is what the run is about, where the event of the step does not say it.
	Subject job.Subject `json:"subject,omitzero"`
	// Untrusted says that the run works on a checkout that isn't trusted.
	Untrusted bool `json:"untrusted,omitempty"`
	// Dispatched says that the step is about to start its workflow again, or has done so.
	Dispatched bool `json:"dispatched,omitempty"`
	// Claim is the id of this step's claim of the key; "" for none.
	Claim string `json:"claim,omitempty"`
	// Booking is what of the run's cost is this step's.
	Booking booking `json:"booking,omitzero"`
	// Prompts says that the files of the workflow lead to a prompt.
	Prompts bool `json:"prompts,omitempty"`
	// Reported says that the report of the run was stored, or that this was tried.
	Reported bool `json:"reported,omitempty"`
	// Owed is what the step has begun to show people of the run, and not brought to its end; "" for nothing.
	Owed string `json:"owed,omitempty"`
	// Local says that the run is one of this machine, whose work was in place when it began to be driven.
	Local bool `json:"local,omitempty"`
	// Called says that Key is that of the run whose question a comment answers.
	Called bool `json:"called,omitempty"`
}

// The files of a step in its own folder: its note, and the conversations of its agents. Their names are none that a state
// file could have.
const (
	stepFile     = "step.note"
	sessionsFile = "sessions.note"
)

// change keeps a change of the note, as soon as the step has a folder.
func (n *stepNote) change(f func(*noteData)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.data)
	if n.file == "" {
		return nil
	}
	return n.seals.Note(n.file, n.data)
}

// get returns the note as it is now.
func (n *stepNote) get() noteData {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.data
}
