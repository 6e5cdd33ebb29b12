// Package protocol defines the workflow language: the content of state files, the meaning of
// final messages, and the templates in prompts.
//
// The package has no side effects. It reads files only through fs.FS or io.ReaderAt, and uses no
// clock, environment or process. It reports mistakes in its input as Problems: values with a
// position, a cause and a hint.
package protocol
