// Package checkpoints stores runs so that later jobs can resume them. A Store writes the
// checkpoints of a run, one after the other, and leaves out contents that can't or may not be
// stored. A Claim reserves the run's key for as long as the run is driven. Talks records the
// conversations that the step has created or restored, which are removed once they are stored.
// WriteNote and ReadNote save data for the post phase of the step, and with Seals the post phase
// checks that files are as the main phase wrote them.
package checkpoints
