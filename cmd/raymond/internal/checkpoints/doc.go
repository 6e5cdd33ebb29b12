// Package checkpoints keeps what a run has come to for those who come later. It makes the
// checkpoints of a run and stores them, one after the other, so that a later job can resume
// the run: it decides what a checkpoint lacks where not all can be stored. A Claim holds the
// run's key meanwhile, and Talks are the conversations that the step has made or put back,
// which it removes when they are stored. For the post part of the step it keeps notes, and
// Seals tell that part that files are what the main part wrote.
package checkpoints
