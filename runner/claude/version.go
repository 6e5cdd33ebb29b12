package claude

import "github.com/raymond-action/raymond-action/runner/internal/program"

// oldest is the first version that reports and accepts all that this package
// relies on.
var oldest = program.Version{2, 1, 128}

const howToInstall = "install it with `npm install -g @anthropic-ai/claude-code`"

// source is where the CLI comes from.
func (b *Backend) source() program.Source {
	return program.Source{
		Title: title, Name: "claude", Path: b.Path, Installer: b.Installer, HowTo: howToInstall,
		Oldest: oldest, Tested: b.Tested, Env: b.env(nil), NoNewPrivs: b.NoNewPrivs,
	}
}
