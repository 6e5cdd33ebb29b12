// Package repotest compares the texts of the repository with the program: README, docs, schemas, and the pages of the
// examples. It contains only tests, which use the built program and exported names.
//
// With the build tag world, the tests also run the example workflows as users do. Each runs for an event of a repository
// that contains the workflow file. The program act is the runner, and GitHub is a fake.
//
// .ci/mutants runs further tests. They replace one function after the other with a mutant, and report mutants that no test
// of the function's package notices. The checkout is not changed: the go command compiles a changed copy of one file (see
// -overlay in go help build).
package repotest
