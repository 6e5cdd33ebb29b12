package state

import "time"

// Here says where a run is driven, as far as waits depend on it.
type Here struct {
	Jobs []string // whose states run here; nil for all
	// JobOf returns the job of a state.
	JobOf func(state string) string
	// Part names the agents of a part of a matrix: only they, and those that they fork,
	// leave their waits. nil is the whole run.
	Part []string
	// NewToken returns 32 random hex digits.
	NewToken func() string
}

// Settle begins and ends the waits of agents, as far as the run and the time of the
// step decide it: times that have come, agents that a join waits for, jobs. It follows each
// decision of a step.
func (s *Step) Settle(h Here) {}

// Answer ends the wait of an agent for an answer. It does nothing when no question of that
// number is open.
func (s *Step) Answer(agent string, number int, a Answer) {}

// TimeOut ends the wait of an agent for an answer as if its time had come. It does nothing
// when no question of that number is open, or when it has no timeout.
func (s *Step) TimeOut(agent string, number int) {}

// NoteComment notes which comment asks a question.
func (s *Step) NoteComment(agent string, number int, comment int64) {}

// DueTime returns when the next wait for a time ends by itself: after <goto after>, not the
// timeouts of questions; zero when there is none.
func (s *Step) DueTime() time.Time { return time.Time{} }

// Waiting lists the agents that wait, in order of creation; never nil.
func (r *Run) Waiting() []Wait { return []Wait{} }

// OpenQuestions returns the agents that wait for an answer, in the order of the questions'
// numbers. They must not be changed.
func (r *Run) OpenQuestions() []*Agent { return nil }

// NextJobs names the jobs that agents wait for, sorted; never nil.
func (r *Run) NextJobs() []string { return []string{} }
