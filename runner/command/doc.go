// Package command runs prompts with a program of the user's own, which says in JSON lines, or
// in plain text, what came of them.
//
// It knows these lines, what the program is told in its environment, and the file that it may
// keep a conversation in. It knows nothing of models, tags or transitions.
package command
