// Package state defines what a run is at one moment, how each thing that happens
// changes it, and how it is kept in files.
//
// Run is a plain value. What happens to it is decided on a Step, which never changes
// the Run that it was made from: the Step's Delta is saved first and applied
// afterwards. The journal holds the same Deltas, so that a run read from its files
// went through the same code as the one in memory. Only file.go, journal.go and
// lock.go touch the disk. Nothing here reads the environment.
//
// # The files
//
// Their format is private: what other programs need is told by raymond list --json and
// raymond status --json. A file of another schema than Schema is refused. All files have mode
// 0600. In the state folder a run has
//
//	{id}.json      the snapshot: the whole run as of some step, as type Run
//	{id}.journal   the steps, those before the snapshot too as far as they are kept, one per line
//	{id}.lock      locked by the process that drives the run; it stays, and means nothing afterwards
//	{id}.holder    names that process
//	{id}/          event log, copy of the workflow, payloads, logs: written by others
//
// # Writing
//
// A step is all that one thing that happens changes, saved completely or not at all. It is saved
// before anybody is told about it and before anything starts because of it. Every step is a line
// of the journal: eight hexadecimal digits (the CRC-32C of the rest), a space, the Delta as
// JSON, and a line break, added with one write. Most are synced, and that is all. The first and the
// last step of a process, and a step that finds many since the snapshot, are saved in a new
// snapshot too: written to a temporary file, synced, renamed, and the folder synced.
//
// The journal is the history of the run as well. It begins with a whole run in the place of a step, and
// has one again from time to time, and wherever the steps before are not those that have led to the
// snapshot: they could not be written, or were written on another machine. When it is
// longer than it may be, its oldest lines are dropped, up to a whole run.
//
// # Reading
//
// The snapshot is decoded strictly: an unknown, doubled, misspelled or null field, an impossible
// value, or a reference to something that doesn't exist is a FileError that names the field, and
// the files stay as they are. Then the steps of the journal that come after it are applied in order. A
// last line that is cut off or doesn't match its checksum counts as not written; any other
// damage, or a gap in the numbers, is a FileError. What is before them in the journal is for the history
// alone: there, damaged lines are left out up to the next whole run.
//
// Whoever drives a run holds the lock of {id}.lock from before it reads the files until its end,
// however it ends.
package state
