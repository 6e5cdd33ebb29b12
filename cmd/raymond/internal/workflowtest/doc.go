// Package workflowtest looks for what is unsafe in workflow files of GitHub
// Actions: the rules of the zizmor audits that a file alone can answer, and a few
// of this repository's own. It is for tests; it runs nothing and asks nobody.
package workflowtest
