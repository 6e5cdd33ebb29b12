// Package codex runs prompts with the Codex CLI. It builds the command line, reads the stream of
// events, and returns the result and the cost of an invocation.
//
// The package knows nothing about tags, workflows, retries or runs: its caller interprets the
// answer and decides how to handle a failure.
package codex
