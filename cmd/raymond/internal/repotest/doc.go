// Package repotest holds the repository's own texts to the program: the README, the
// documents, the schemas and the examples' pages say what is true. It consists of tests,
// and it asks the built program and exported names only.
//
// It also runs the example workflows as their users do: the workflow file and the states in a repository, an event, act
// as the runner (with -tags world), and a stand-in for the forge.
// And it takes one function after the other out of the program, and says which are missed by no test of their package
// (.ci/mutants). Nothing is written to the checkout: go tests each mutant with a changed copy of one file (go help build,
// -overlay).
package repotest
