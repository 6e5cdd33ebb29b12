// Package checkpoints makes the checkpoints of a run and stores them, one after the
// other, so that a later job can resume the run. It decides what a checkpoint lacks
// where not all can be stored, and keeps a note of how far it has come for the post
// part of the step. A Claim holds the run's key meanwhile. Talks are the conversations that the
// step has made or put back, which it removes when they are stored.
package checkpoints
