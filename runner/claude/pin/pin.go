// Package pin holds the npm files of the Claude Code that the project is tested with.
package pin

import (
	"embed"

	"github.com/raymond-action/raymond-action/runner/pinned"
)

//go:embed package.json package-lock.json
var files embed.FS

// CLI is the pinned Claude Code. Its program needs no Node.
var CLI = pinned.CLI{
	Title: "Claude Code", Package: "@anthropic-ai/claude-code", Files: files,
	Program: "node_modules/@anthropic-ai/claude-code-*/claude*", Folder: "raymond-claude-code",
}
