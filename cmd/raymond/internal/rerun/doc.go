// Package rerun begins a run again from one of its state executions, as a new run: it finds the
// execution that somebody names, copies the conversations that the new run continues, and puts
// the files of the workspace as they were then into new git worktrees. What it makes belongs to
// the new run; of the other one it only reads.
package rerun
