// Package workspace saves the work of agents in git worktrees, so that a later machine can restore it
// in a fresh checkout. Work is everything that was changed, staged or committed.
//
// For each repository, a save contains one git bundle with one additional commit. The parents of this
// commit are HEAD and the local branches. Its tree contains the index and the files of each worktree,
// where n is the number of the worktree:
//
//	{n}/index/…    entries of the index
//	{n}/work/…     files, tracked and untracked, that are not ignored
//	{n}/stage/1/…  entries of an unfinished merge, stages 1 to 3
//
// Files that git considers changed are saved byte for byte. All others are restored in git's stored form,
// so their line ends may differ.
//
// The commit is created in a new bare repository that borrows the objects of the real one. So a save
// writes no objects, refs or index entries to the real repository. The file index.json describes the
// bundles. A restore trusts neither index.json nor the bundles.
//
// Git reads no settings of the repository, the user or the machine. Instead of the repository's common
// directory it sees a view (GIT_COMMON_DIR): a directory of this package with its own config and links
// to the refs. So an agent can't add a hook, a filter, a file system monitor, a credential helper, a
// proxy or an include. Only the URL of origin and the settings for line ends, modes and sparse checkouts
// are copied to the view. Each git process has limits on time and memory, can't gain privileges, and ends
// together with the processes that it started. On Windows, where links need privileges, git reads the
// repository's settings, but settings that name programs are overridden.
//
// On Linux, git also runs in a cage. It can access the system's files, the worktrees of the repository,
// and the directories of this package, but no network. Alternates of agents' repositories are ignored. A
// .git file is ignored if it points to a repository that doesn't list the worktree. Missing objects are
// fetched by another git process, which works in a new, empty repository.
//
// HandOver gives agents' work to a process with secrets. It creates a new repository and checks the
// hashes of all objects in it.
//
// Snapshots are commits in the same format, for one worktree each. They are stored in a bare repository
// next to the run. The changes of a snapshot are its difference from the previous snapshot of the same
// worktree. A new snapshot reads only files that differ from HEAD and have changed since the last one.
//
// The package does not depend on the packages for runs, agents and checkpoints.
package workspace
