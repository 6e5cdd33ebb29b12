// Package gemini runs prompts with Google's Gemini CLI. It builds the command line, the settings
// and the tool rules, reads the stream of events, stores the conversations, and returns the result
// and the cost of an invocation.
//
// The CLI does not use the user's home folder, but another one inside the user's configuration
// folder; see home. There are two reasons. Some requirements of a run can only be expressed in the
// CLI's settings file. And in a shared folder, the CLI would delete other conversations.
//
// The package knows nothing about tags, workflows, retries or runs: its caller interprets the
// answer and decides how to handle a failure.
package gemini
