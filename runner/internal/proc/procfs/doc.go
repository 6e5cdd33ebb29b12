// Package procfs reads what the kernel says of processes. It depends on little: the
// supervisor of a child loads it before everything else. Only Linux has it.
package procfs
