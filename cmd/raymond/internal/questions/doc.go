// Package questions asks people the questions of a run in comments on issues and pull
// requests, and reads what they answer there.
//
// People does both while a run is driven. A question is posted only when a checkpoint is
// stored that has its token, and never twice: a comment that may be there already is looked
// for before one is written. Answers are comments, reviews and comments on lines that begin
// with a prefix. They are read again whenever the run would be suspended, since the event
// of an answer may get lost.
//
// A comment with a question begins with a mark that nobody sees, which leads from an answer
// to the run. Anybody can copy it, so it proves nothing: what counts is the state of the run.
package questions
