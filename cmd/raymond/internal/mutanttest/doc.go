// Package mutanttest takes one function after the other out of the program, and says
// which are missed by no test of their package. Nothing is written to the checkout: go
// tests each mutant with a changed copy of one file (go help build, -overlay).
//
// It consists of tests; .ci/mutants runs them all.
package mutanttest
