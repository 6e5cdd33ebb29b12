// Package sticky keeps one comment on an issue or a pull request up to date. It finds
// the comment again, creates it if there is none, edits it in place, and never leaves
// a second one, even if requests fail or answers are lost.
//
// Pure functions of what is known and of the time decide what is done next. A Poster
// does it in the background. The package knows nothing about runs or about where the
// text comes from.
package sticky
