// Package repotest holds the repository's own texts to the program: the README, the
// documents, the schemas and the examples' pages say what is true. It consists of tests,
// and it asks the built program and exported names only.
package repotest
