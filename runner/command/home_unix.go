//go:build !windows

package command

const homeVar = "HOME"
