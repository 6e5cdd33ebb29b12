// Package e2e has the tests that must start the program as a process: kills and signals,
// what a process leaves behind, locks between two of them, a terminal, a full disk. Whatever
// a function can show is shown in the package of that function.
package e2e
