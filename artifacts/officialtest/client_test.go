package officialtest

import "testing"

func TestLockfilesPinEveryPackage(t *testing.T) {
	for _, v := range []Version{Newest, Old} {
		v.npm().CheckPinned(t)
	}
}
