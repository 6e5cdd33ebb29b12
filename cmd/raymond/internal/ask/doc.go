// Package ask asks people the questions of a run and hears what they answer, keeps the one
// comment that tells of the run, and says what can be done with a run next.
//
// People asks in comments on issues and pull requests while a run is driven, Shell at a
// terminal or in the flags of a resume. A comment is posted only when a checkpoint is
// stored that has the question's token, and never twice: one that may be there already is
// looked for before one is written. Answers are comments, reviews and comments on lines that begin
// with a prefix. They are read again whenever the run would be suspended, since the event
// of an answer may get lost.
//
// A comment with a question begins with a mark that nobody sees, which leads from an answer
// to the run. Anybody can copy it, so it proves nothing: what counts is the state of the run.
//
// The package doesn't know how runs are stored, or who starts a step.
package ask
