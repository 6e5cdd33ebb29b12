package commandtest

import "testing"

func TestLockfilePinsEveryPackage(t *testing.T) { pinned.CheckPinned(t) }
