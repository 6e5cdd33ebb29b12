// Package examplestest runs the example workflows as their users do: the workflow
// file and the states in a repository, an event, act as the runner, and a stand-in
// for the forge. It is for tests.
//
// It knows nothing of what an example does. What the forge has and was asked is in
// Forge.
package examplestest
