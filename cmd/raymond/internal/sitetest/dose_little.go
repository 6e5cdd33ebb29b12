//go:build !world

package sitetest

// isFull reports whether tests try all moments and orders.
const isFull = false
