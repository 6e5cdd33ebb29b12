// Package command runs prompts with a program that the user provides. The program prints its result as
// JSON lines or as plain text.
//
// The package knows these formats, the program's environment, and the file in which the program may
// store a conversation. It doesn't know models, tags or transitions.
package command
