// Package pin holds the npm files of the Gemini CLI that the project is tested with.
package pin

import (
	"embed"
	"runtime"

	"github.com/raymond-action/raymond-action/runner/pinned"
)

//go:embed package.json package-lock.json
var files embed.FS

// CLI is the pinned Gemini CLI. Its program is a script for Node 20 or later, on PATH.
var CLI = pinned.CLI{
	Title: "Gemini CLI", Package: "@google/gemini-cli", Files: files,
	Program: program(), Folder: "raymond-gemini-cli",
}

func program() string {
	if runtime.GOOS == "windows" {
		return "node_modules/.bin/gemini.cmd" // a script can't be run as a program
	}
	return "node_modules/@google/gemini-cli/bundle/gemini.js"
}
