// Package claude runs prompts with Claude Code. It builds the command line, reads the events that the
// CLI prints, and determines the result of an invocation.
//
// It doesn't know tags, workflows, retries or runs. Its caller interprets the answers and handles the
// failures.
package claude
