// Package workspace saves the work of agents in git trees: what was changed, staged
// and committed, so that a later machine can restore it in a fresh checkout.
//
// Of each repository a save has one git bundle with a single commit of our own. Its
// parents are the commits of HEAD and the local branches, and its tree has for
// every worktree the index and the files as they were, byte for byte:
//
//	{n}/index/…    entries of the index
//	{n}/work/…     files, tracked and untracked, that are not ignored
//	{n}/stage/1/…  entries of an unfinished merge, stages 1 to 3
//	{n}/added/…    entries without content (git add -N)
//
// The commit is made in a bare repository beside the bundle that borrows the objects
// of the real one. So nothing is written to the repository that is saved: no object, no
// ref, no index. index.json says what the bundles hold; like them, it is not trusted
// when it comes back.
//
// Nothing that a repository configures is run: no hooks, no file system monitor, no
// filters, no signing, no credential helpers. The package knows nothing of runs,
// agents or checkpoints.
package workspace
