// Package repotest compares the texts of the repository with the program: README, docs, schemas, and the pages of the
// examples. It contains only tests, which use the built program and exported names.
//
// It also runs the example workflows as users do (with the tag world): a repository with the workflow file and the states, an
// event, act as the runner, and a fake GitHub.
//
// And it replaces one function after the other with a mutant, and reports mutants that no test of the package notices
// (.ci/mutants). The checkout is not changed: the go command compiles a changed copy of one file (-overlay in go help
// build).
// -overlay).
package repotest
