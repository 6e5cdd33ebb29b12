// Package claude runs prompts with Claude Code: it builds the command, reads the
// stream of events, and says what an invocation amounted to. It also finds the
// transcripts that the CLI keeps.
//
// It knows nothing of tags, workflows, retries or runs: what the answer means
// and what follows from a failure is the caller's affair.
package claude
