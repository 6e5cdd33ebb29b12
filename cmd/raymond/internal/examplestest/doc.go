// Package examplestest runs the example workflows as their users do: the workflow
// file and the states in a repository, an event, act as the runner, and stand-ins
// for the forge and for the agent CLI. It is for tests.
//
// It knows nothing of what an example does. What the forge has and was asked is in
// Forge, what agents say is in Agents.
package examplestest
