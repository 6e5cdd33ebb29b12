// Package claudetest lets tests drive the real Claude Code CLI without its
// makers' servers: a scripted Messages API on loopback, an install of the
// pinned CLI, and an environment that keeps it off the network and off the real
// home folder.
//
// It knows nothing of the backend under test.
package claudetest
