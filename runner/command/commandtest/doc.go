// Package commandtest provides a small agent CLI, and the API that it calls, for tests of the agent
// command. Vendor describes both.
//
// The CLI uses the environment and the output format of agent commands. The package doesn't know how the
// CLI is started.
package commandtest
