// Package workspace keeps the work of agents in git trees: what was changed, staged
// and committed, so that a later machine can put it into a fresh checkout.
//
// Of each repository a save has one git bundle with a single commit of our own. Its
// parents are all that HEAD and the local branches stand at, and its tree has for
// every worktree the index and the files as they were, byte for byte:
//
//	{n}/index/…    entries of the index
//	{n}/work/…     files, tracked and untracked, that are not ignored
//	{n}/stage/1/…  entries of an unfinished merge, stages 1 to 3
//	{n}/added/…    entries that are only announced (git add -N)
//
// The commit is made in a bare repository beside the bundle that borrows the objects
// of the real one. So nothing at all is written to the repository that is saved: no
// object, no ref, no index. index.json says what the bundles hold and is, like them,
// taken for a stranger's when it comes back.
//
// Nothing that a repository configures is run: no hooks, no file system monitor, no
// filters, no signing, no credential helpers. The package knows nothing of runs,
// agents or checkpoints.
package workspace
