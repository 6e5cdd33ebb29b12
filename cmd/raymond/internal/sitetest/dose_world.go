//go:build world

package sitetest

// isFull says that tests try all moments and orders.
const isFull = true
