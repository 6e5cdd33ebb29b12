package action

import (
	"sync"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// stepNote records for the post phase which run the step drives and how far it has got. The post
// phase handles only that run. Several goroutines may use a stepNote at the same time.
type stepNote struct {
	mu    sync.Mutex // guards data and the file
	file  string
	seals *checkpoints.Seals
	data  noteData
}

// noteData is the content of a step's note.
type noteData struct {
	Key        string `json:"key"`
	WorkflowID string `json:"workflow_id"`
	// Part is the part of a matrix that the step runs; nil for the run itself.
	Part *state.Part `json:"part,omitempty"`
	// Mark identifies the processes of the run; "" before there is a run.
	Mark string `json:"mark,omitempty"`
	// Lost is set if another job has the key. The run is then not stored.
	Lost bool `json:"lost,omitempty"`
	// Subject is the subject of the run if the event of the step has none.
	Subject job.Subject `json:"subject,omitzero"`
	// Untrusted is set if the run works on an untrusted checkout.
	Untrusted bool `json:"untrusted,omitempty"`
	// Dispatched is set if the step is about to start its workflow again, or has done so.
	Dispatched bool `json:"dispatched,omitempty"`
	// Claim is the id of this step's claim of the key; "" for none.
	Claim string `json:"claim,omitempty"`
	// Booking records which part of the run's cost belongs to this step.
	Booking booking `json:"booking,omitzero"`
	// Prompts is set if the files of the workflow lead to a prompt.
	Prompts bool `json:"prompts,omitempty"`
	// Reported is set once the step has stored the report of the run or tried to.
	Reported bool `json:"reported,omitempty"`
	// Owed is owesPage or owesComment if the step has not finished that output; "" otherwise.
	Owed string `json:"owed,omitempty"`
	// Local is set if the run is a local one whose work was restored before the run was driven.
	Local bool `json:"local,omitempty"`
	// Called is set if Key belongs to the run whose question a comment answers.
	Called bool `json:"called,omitempty"`
}

// The files in a step's directory with its note and with the conversations of its agents. No state
// file can have these names.
const (
	stepFile     = "step.note"
	sessionsFile = "sessions.note"
)

// change changes the note and saves it, if the step already has a directory.
func (n *stepNote) change(f func(*noteData)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.data)
	if n.file == "" {
		return nil
	}
	return n.seals.Note(n.file, n.data)
}

// get returns a copy of the note.
func (n *stepNote) get() noteData {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.data
}
