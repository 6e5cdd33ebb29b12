// Package geminitest lets tests drive the real Gemini CLI without its makers' servers: a
// scripted Gemini API on loopback, an install of the pinned CLI, and an environment that keeps it
// off the network and off the real home folder.
//
// It knows nothing of the backend under test.
package geminitest
