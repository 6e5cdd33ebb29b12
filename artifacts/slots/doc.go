// Package slots knows where checkpoints are kept: under which names a job stores
// them, when it does so beside the run, and which one a later job takes up.
//
// Three names rotate, so that only the oldest of three is ever deleted (Slots).
// Saving never holds up the run (Saver). What is found is believed only when it
// comes from where this workflow's own runs store theirs (Finder), and Decide says
// whether a run that was found is gone on with.
//
// The package does not know what is in a checkpoint, how it is sealed, or how a
// run is driven.
package slots
