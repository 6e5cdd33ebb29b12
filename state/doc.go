// Package state defines the state of a run, and how each event changes it. It has no side effects: it
// reads no files, no environment variables and no clock. Package journal stores runs in files.
//
// Run is a plain value. A Step decides how the Run changes, but does not change it: the Step's Delta
// is saved first and applied to the Run afterwards. The journal contains the same Deltas, so a run
// that is read from its files is built by the same code as the run in memory.
package state
