// Package state holds what a run is at one moment, how one input changes it, and
// how it is kept in files.
//
// Run is a plain value. What may happen to it is decided on a Step, which never
// changes the Run it was made from: the Step's Delta is saved first and applied
// afterwards. The journal holds the same Deltas, so that a run read from its
// files went through the same code as the one in memory. Only file.go and
// journal.go touch the disk; nothing here reads a clock or the environment.
package state
