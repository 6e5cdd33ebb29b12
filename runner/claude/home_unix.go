//go:build !windows

package claude

const homeVar = "HOME"
