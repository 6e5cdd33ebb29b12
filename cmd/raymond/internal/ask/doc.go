// Package ask asks users a run's questions and reads the answers. It also keeps the sticky
// comment about a run up to date, and describes the next steps for a run.
//
// CommentPrompter posts questions as comments on issues and pull requests while a run is
// driven. TerminalPrompter asks at a terminal and also accepts answers from flags of raymond resume.
// A question is posted only after a checkpoint that contains its token has been stored. It is never
// posted twice: before posting, the package looks for a comment that may already exist.
// Answers are comments, reviews and line comments that begin with a prefix. The event of an answer
// may get lost, so answers are read again whenever the run would be suspended.
//
// A comment with a question begins with an invisible marker, which identifies the run that an answer
// belongs to. Anyone can copy the marker, so it proves nothing. Only the questions in the run's state
// count.
//
// The package doesn't know how runs are stored, or what starts a step.
package ask
