package pinned

import (
	"embed"
	"io/fs"
	"runtime"
)

//go:embed claude codex gemini
var npm embed.FS

// Claude is the pinned Claude Code. Its program needs no Node.
var Claude = CLI{
	Title: "Claude Code", Package: "@anthropic-ai/claude-code", Files: files("claude"),
	Program: "node_modules/@anthropic-ai/claude-code-*/claude*", Folder: "raymond-claude-code",
}

// Codex is the pinned Codex CLI. Its program needs no Node; beside it there are others that begin like it.
var Codex = CLI{
	Title: "Codex", Package: "@openai/codex", Files: files("codex"),
	Program: "node_modules/@openai/codex-*/vendor/*/bin/" + forSystem("codex.exe", "codex"), Folder: "raymond-codex",
}

// Gemini is the pinned Gemini CLI. Its program is a script for Node 20 or later, on PATH, which Windows
// can't run as a program.
var Gemini = CLI{
	Title: "Gemini CLI", Package: "@google/gemini-cli", Files: files("gemini"),
	Program: forSystem("node_modules/.bin/gemini.cmd", "node_modules/@google/gemini-cli/bundle/gemini.js"), Folder: "raymond-gemini-cli",
}

func files(folder string) fs.FS {
	sub, err := fs.Sub(npm, folder)
	if err != nil {
		panic(err)
	}
	return sub
}

func forSystem(windows, others string) string {
	if runtime.GOOS == "windows" {
		return windows
	}
	return others
}
