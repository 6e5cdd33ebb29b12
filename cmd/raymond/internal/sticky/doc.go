// Package sticky writes one comment on an issue or a pull request and edits it in
// place: it finds the comment again, makes it when there is none, and never makes a
// second one, even where requests or answers are lost.
//
// What is done next is decided by pure functions of what is known and the time; a
// Poster does it, in a goroutine of its own. The package knows nothing of runs or of
// where the text comes from.
package sticky
