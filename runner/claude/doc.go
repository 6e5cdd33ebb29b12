// Package claude runs prompts with Claude Code: it builds the command, reads the CLI's stream of events, and
// determines the result of an invocation.
//
// It doesn't know tags, workflows, retries or runs: the caller interprets answers and decides about failures.
package claude
