//go:build linux

package repotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

// TestDebuggingGuide follows docs/debugging.md word for word, with the real agent CLI.
func TestDebuggingGuide(t *testing.T) {
	t.Parallel()
	api := claudetest.NewNotesServer(t)
	f := newFolder(t)
	f.dir = filepath.Join(f.dir, "project")
	f.env = append(claudetest.Env(t, api), f.env...)
	f.env = append(f.env, "RAYMOND_CLAUDE="+claudetest.Install(t), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	text := readText(t, "docs/debugging.md")
	page, commands := blocks(text), 0
	if got := strings.Count(text, "```"); got != 2*len(page) {
		t.Errorf("got %d fences of %d blocks, want two each", got, len(page))
	}
	for _, b := range page {
		if b.file != "" {
			f.write(t, b.file, b.text)
		}
		if b.language == "console" {
			commands += f.follow(t, b)
		}
	}
	if commands < 9 {
		t.Errorf("got %d commands, want at least 9", commands)
	}
	if _, err := os.Stat(f.dir + "-notes-2"); err == nil {
		t.Error("the worktree is still there")
	}
	read := 0
	for _, r := range api.Requests() {
		if strings.Contains(r.Conversation(), "Read changes.txt") && !strings.Contains(r.Conversation(), "Write a line") {
			read++
		}
	}
	if read != 2 {
		t.Errorf("the model was asked %d times in START.md, want twice: the rerun does not run it again", read)
	}
	seen := api.Last(t).Conversation()
	if !strings.Contains(seen, "Users notice #12.") || strings.Contains(seen, "Do not mention") {
		t.Errorf("in the rerun the model saw\n%s\nwant what was said before the failed state, and nothing of that", seen)
	}
}
