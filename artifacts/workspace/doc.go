// Package workspace saves the work of agents in git worktrees, so that a later machine can restore it
// in a fresh checkout. Work is everything that was changed, staged or committed.
//
// For each repository a save has one git bundle with one additional commit. The parents of this commit
// are HEAD and the local branches. Its tree has the index and the files of every worktree, byte for
// byte where git considers them changed:
//
//	{n}/index/…    entries of the index
//	{n}/work/…     files, tracked and untracked, that are not ignored
//	{n}/stage/1/…  entries of an unfinished merge, stages 1 to 3
//
// Files that git considers unchanged are restored in git's stored form, so their line ends may differ.
//
// The commit is created in a new bare repository that borrows the objects of the real one. So saving
// writes no objects, refs or index entries to the real repository. index.json describes the bundles. A
// restore trusts neither of them.
//
// Git reads no settings of the repository, the user or the machine. Instead of the repository's common
// directory it sees a view (GIT_COMMON_DIR): a directory of this package with its own config and links
// to the refs. So no hook, filter, file system monitor, credential helper, proxy or include of an agent
// takes effect. Only the settings for line ends, modes and sparse checkouts are kept, and the URL of
// origin. Each git process has limits on time and memory, can't gain privileges, and ends together with
// the processes that it started. On Windows, where links need privileges, git reads the repository's
// settings, but settings that name programs are overridden.
//
// On Linux, git also runs in a cage. It can access the system's files, the worktrees of the repository,
// and the directories of this package, but no network. Alternates of agents' repositories are ignored,
// and so is a .git file that points to a repository which doesn't know the worktree. Missing objects
// are fetched by another git process, which works in a new, empty repository.
//
// HandOver gives agents' work to a process with secrets as a new repository, whose objects' hashes were
// checked.
//
// Snapshots are commits of the same form for one worktree each, in a bare repository next to the run.
// The changes of a snapshot are its difference from the previous snapshot of the same worktree. A new
// snapshot reads only files that differ from HEAD and have changed since the last snapshot.
//
// The package knows nothing about runs, agents or checkpoints.
package workspace
