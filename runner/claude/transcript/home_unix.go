//go:build !windows

package transcript

const homeVar = "HOME"
