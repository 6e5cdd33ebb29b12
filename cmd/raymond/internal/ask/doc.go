// Package ask puts the questions of a run to people and reads their answers. It also keeps the
// sticky comment about a run up to date, and describes the next steps for a run.
//
// CommentPrompter posts questions as comments on issues and pull requests while a run is
// driven. TerminalPrompter asks at a terminal and takes answers from the flags of a resume.
// A question is posted only after a checkpoint that contains its token has been stored, and
// never twice: before posting, the package looks for a comment that may already exist.
// Answers are comments, reviews and line comments that begin with a prefix. They are read again
// whenever the run would be suspended, because the event of an answer may get lost.
//
// A comment with a question begins with an invisible marker that leads from an answer to the
// run. Anyone can copy the marker, so it proves nothing; the state of the run decides.
//
// The package doesn't know how runs are stored, or what starts a step.
package ask
