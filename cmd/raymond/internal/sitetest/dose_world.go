//go:build world

package sitetest

// isFull selects the second argument of Dose. It is true with the build tag world, with which tests try
// many more moments for a kill, or orders of actions.
const isFull = true
