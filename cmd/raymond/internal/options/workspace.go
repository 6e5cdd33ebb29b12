package options

// What --workspace may be.
const (
	WorkspaceGit  = "git"  // snapshots are taken of the git worktrees that agents work in
	WorkspaceNone = "none" // none are taken
)

// AddWorkspace defines the flag of snapshots. It is of this process: a resume takes nothing
// of it from the run.
func (o *Options) AddWorkspace() {
	o.Add("workspace", "WHAT", "git: keep the files of the agents' git worktrees as they are after each prompt state, for rerun, diff and report; none: don't (default none)", func(s string) error {
		o.Workspace = s
		return OneOf(s, WorkspaceGit, WorkspaceNone)
	})
}
