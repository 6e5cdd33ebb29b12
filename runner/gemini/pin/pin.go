// Package pin holds the npm files of the Gemini CLI that the project is tested with.
package pin

import (
	"embed"

	"github.com/raymond-action/raymond-action/runner/pinned"
)

//go:embed package.json package-lock.json
var files embed.FS

// CLI is the pinned Gemini CLI. Its program is a script for Node 20 or later.
var CLI = pinned.CLI{
	Title: "Gemini CLI", Package: "@google/gemini-cli", Files: files,
	Program: "node_modules/@google/gemini-cli/bundle/gemini.js", Folder: "raymond-gemini-cli",
}
