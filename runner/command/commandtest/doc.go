// Package commandtest provides a small agent CLI for tests of the agent command, and the API that
// it calls, as an agenttest.Vendor.
//
// It knows the environment and the output format of agent commands, but not how they are started.
package commandtest
