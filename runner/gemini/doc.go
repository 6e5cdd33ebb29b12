// Package gemini runs prompts with Google's Gemini CLI: it builds the command, the settings and
// the rules for tools, reads the stream of events, keeps the conversations, and says what an
// invocation amounted to.
//
// The CLI gets a home folder of its own, below its user's (see home), because what must hold for
// a run can be said in settings alone, and because it deletes conversations of others from a
// folder that they share.
//
// The package knows nothing of tags, workflows, retries or runs: the caller decides what an
// answer means and what follows from a failure.
package gemini
