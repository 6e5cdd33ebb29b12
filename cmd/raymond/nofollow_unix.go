//go:build unix

package main

import "syscall"

// noFollow opens neither what a symbolic link names nor waits for the other end
// of a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
