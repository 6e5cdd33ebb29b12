// Package journal stores runs in files, reads them again, and keeps two processes from driving the same
// run. It decides nothing about a run: package state does that.
//
// # The files
//
// The format of the files is private. Other programs use raymond list --json and
// raymond status --json. A file whose schema is not state.Schema is rejected. All files have mode
// 0600. For each run, the state folder contains:
//
//	{id}.json      the snapshot: the whole run after one of its steps, as type state.Run
//	{id}.journal   the steps, one per line; it may also contain steps from before the snapshot
//	{id}.lock      locked by the process that drives the run; the file remains, unlocked
//	{id}.holder    describes that process
//	{id}/          event log, copy of the workflow, payloads, logs: written by other packages
//
// # Writing
//
// A step contains all changes that follow from one event, and is saved completely or not at all. It
// is saved before it is reported to anyone and before anything starts because of it. Every step is a
// line of the journal: eight hexadecimal digits (the CRC-32C of the state.Delta), a space, the Delta as
// JSON, and a line break. The line is written with one call, and usually the journal is then synced.
// A new snapshot is also written for the first and the last step of a process, and when many steps
// have followed the last snapshot. It is written to a temporary file, which is synced and renamed;
// then the folder is synced.
//
// The journal is also the history of the run. It begins with a whole run instead of a step. Further
// whole runs may follow. A whole run is written wherever the earlier lines are not the steps that led
// to the snapshot, because those steps could not be written or were written on another machine. If
// the journal exceeds its maximum size, its oldest lines are dropped and a whole run replaces them.
//
// # Reading
//
// The snapshot is decoded strictly. An unknown, duplicate, misspelled or null field, an impossible
// value, or a reference to something that doesn't exist is a FileError that names the field; the
// files are not changed. Then the later steps in the journal are applied in order. A last line that
// is cut off or doesn't match its checksum counts as not written. Any other damage, or a gap in the
// numbers, is a FileError. The lines before these steps are used only for the history. After a
// damaged line, the history continues with the next whole run.
//
// A process that drives a run locks {id}.lock before it reads the files, and holds the lock until it
// exits or is killed.
package journal
