// Package state defines what a run is at one moment, how each thing that happens
// changes it, and how it is kept in files.
//
// Run is a plain value. What happens to it is decided on a Step, which never changes
// the Run that it was made from: the Step's Delta is saved first and applied
// afterwards. The journal holds the same Deltas, so that a run read from its files
// went through the same code as the one in memory. Only file.go, journal.go and
// lock.go touch the disk. Nothing here reads the environment.
package state
