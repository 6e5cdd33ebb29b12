// Package pin holds the npm files of the Codex CLI that the project is tested with.
package pin

import (
	"embed"
	"runtime"

	"github.com/raymond-action/raymond-action/runner/pinned"
)

//go:embed package.json package-lock.json
var files embed.FS

// CLI is the pinned Codex CLI. Its program needs no Node.
var CLI = pinned.CLI{
	Title: "Codex", Package: "@openai/codex", Files: files,
	Program: "node_modules/@openai/codex-*/vendor/*/bin/" + program(), Folder: "raymond-codex",
}

// program is the file's name, beside which there are others that begin like it.
func program() string {
	if runtime.GOOS == "windows" {
		return "codex.exe"
	}
	return "codex"
}
