// Package codex runs prompts with the Codex CLI: it builds the command, reads the stream of
// events, and says what an invocation amounted to.
//
// It knows nothing of tags, workflows, retries or runs: the caller decides what an answer
// means and what follows from a failure.
package codex
