// Package protocol is the workflow language: what a state file may say, what an
// agent's final message asks for, and how a prompt is filled in.
//
// It is pure. It reads files only through fs.FS or io.ReaderAt, knows no clock,
// no environment and no process, and returns what is wrong with an input as
// Problems: values with a place, a cause and what would be right.
package protocol
