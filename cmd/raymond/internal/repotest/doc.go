// Package repotest holds the repository's own texts to the program: the README, the
// documents, the schemas and the examples' pages say what is true. It consists of tests,
// and it asks the built program and exported names only.
//
// It also runs the example workflows as their users do: the workflow file and the states in a repository, an event, act
// as the runner (with -tags world), and a stand-in for the forge.
package repotest
