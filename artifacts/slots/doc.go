// Package slots knows where checkpoints are stored, under which names, and which checkpoint a later
// job resumes.
//
// Slots stores checkpoints under three names in turn, so that only the oldest of three is ever
// deleted. A Finder accepts a checkpoint only from the origin of this workflow's own runs, and
// Decide decides whether its run is resumed. A Claim keeps two jobs from driving one run. Spending
// records what each job has spent, for budgets of several runs.
//
// The package does not know the contents of a checkpoint, how it is sealed, or how a run is driven.
package slots
