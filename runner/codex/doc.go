// Package codex runs prompts with the Codex CLI: it builds the command, reads the stream of events,
// and returns the result and the cost of an invocation.
//
// It knows nothing about tags, workflows, retries or runs: the caller interprets the answer and
// decides what follows from a failure.
package codex
