// Package slots knows where checkpoints are stored: under which names a job stores
// them, when it does so while the run continues, and which one a later job resumes.
//
// Three names are used in turn, so that only the oldest of three is ever deleted
// (Slots). Saving never delays the run (Saver). A checkpoint that is found is trusted
// only when it comes from where this workflow's own runs store theirs (Finder), and
// Decide says whether its run is resumed. A Claim keeps two jobs from driving one run.
//
// The package does not know what is in a checkpoint, how it is sealed, or how a
// run is driven.
package slots
