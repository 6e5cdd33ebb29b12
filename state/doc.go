// Package state defines the state of a run, and how each event changes it. It has no side effects: it
// reads no files, no environment variables and no clock. Package journal stores runs in files.
//
// Run is a plain value. A Step decides how the Run changes, but does not change it: the Step's Delta
// is saved first and applied to the Run afterwards. The journal contains the same Deltas, so a run
// that is read from its files is built by the same code as the run in memory.
//
// A Step works on a draft: the run as the step has left it so far. Each decision is a type or a function
// that gets only what it depends on, such as Schedule (who is next), limits (what may still be spent),
// ledger (what an invocation cost), execution (how one agent continues) and group (which agents the step may
// change). A recorder writes events and counts.
package state
