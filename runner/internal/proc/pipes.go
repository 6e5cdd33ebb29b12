package proc

import (
	"sync"
	"time"
)

// chunk is how much is read at once: half of what a pipe holds, so that the child
// can write one half while the other is read.
const chunk = 32 << 10

// chunks keeps read buffers between children, so that a loop of short scripts
// makes no garbage.
var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// The limits of waiting for the end of a pipe whose writers should be gone. One
// that is not may have it from somebody who is no descendant, or is not ours to
// kill.
const (
	drainQuiet = time.Second      // without a byte
	drainMax   = 10 * time.Second // in all
)
