// Package gemini runs prompts with Google's Gemini CLI: it builds the command, the settings and the
// tool rules, reads the stream of events, stores the conversations, and returns the result and the
// cost of an invocation.
//
// The CLI gets its own home folder, inside the user's configuration folder (see home), for two
// reasons: some requirements of a run can only be expressed in the settings file, and the CLI
// deletes other conversations in a shared folder.
//
// The package knows nothing about tags, workflows, retries or runs: the caller interprets the
// answer and decides what follows from a failure.
package gemini
