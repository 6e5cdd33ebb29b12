// Package workspace saves the work of agents in git trees: what was changed, staged
// and committed, so that a later machine can restore it in a fresh checkout.
//
// Of each repository a save has one git bundle with a single commit of our own. Its
// parents are the commits of HEAD and the local branches, and its tree has for
// every worktree the index and the files as they were, byte for byte where git takes them for changed:
//
//	{n}/index/…    entries of the index
//	{n}/work/…     files, tracked and untracked, that are not ignored
//	{n}/stage/1/…  entries of an unfinished merge, stages 1 to 3
//
// Files that git takes for unchanged come back as git stores them: line ends may differ from those that a setting gave
// them.
//
// The commit is made in a bare repository of our own that borrows the objects
// of the real one. So nothing is written to the repository that is saved: no object, no
// ref, no index. index.json says what the bundles hold; like them, it is not trusted
// when it comes back.
//
// Git reads neither the settings of a repository nor those of the user or the machine.
// In place of the folder of a repository it is shown one of ours (GIT_COMMON_DIR) that
// has a config of ours and links to the refs. So no hook, filter, file system monitor,
// credential helper, proxy or include of theirs counts. Kept are only how line ends,
// modes and sparse checkouts are set, and where origin is. Each run of git has a limit
// on its time and its memory, can gain no privileges, and ends with all that it started.
// On Windows, where links can't be made, git still reads the settings of the repository
// itself, but for what it could run.
//
// On Linux it runs in a cage besides: it sees the machine's files, the repository with its
// worktrees and folders of our own, and has no network. What repositories of agents borrow from others, and a .git
// that leads to one which does not know the worktree, is not followed. What is missing is fetched by a git in an empty
// repository of ours.
//
// What is handed over to somebody with secrets is a repository made anew, of objects whose
// hashes were checked.
//
// Snapshots are commits of the same form, with one worktree each, in a bare repository
// that stays beside the run. What one has changed is its difference to the one before it in
// the same worktree. A later snapshot reads only the files that differ from HEAD and have
// changed since the last one.
//
// The package knows nothing of runs, agents or checkpoints.
package workspace
