//go:build !windows

package rollout

const homeVar = "HOME"
