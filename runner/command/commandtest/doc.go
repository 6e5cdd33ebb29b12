// Package commandtest has a small agent for tests of the agent command, and the API that it
// asks: an clitest.Vendor for programs of the user's own.
//
// It knows what the program is told and prints, and nothing of how it is run.
package commandtest
