// Package protocol defines the workflow language: what a state file may say, what an
// agent's final message asks for, and how a prompt is filled in.
//
// It has no side effects. It reads files only through fs.FS or io.ReaderAt, and knows no
// clock, environment or process. What is wrong with an input it returns as Problems:
// values with a place, a cause and a hint.
package protocol
