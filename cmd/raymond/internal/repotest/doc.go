// Package repotest holds the repository's own texts to the program: the README, the
// documents, the schemas and the examples' pages say what is true, and the source has
// the shape that CONTRIBUTING.md promises. It consists of tests, and it asks the built
// program and exported names only.
package repotest
