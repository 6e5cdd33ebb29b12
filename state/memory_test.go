package state_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestStateFilesOfManyValuesAreNotDecoded: 16 MiB of empty agents would be gigabytes.
func TestStateFilesOfManyValuesAreNotDecoded(t *testing.T) {
	const size = 16 << 20
	for name, text := range map[string]string{
		"agents": `{"schema":1,"agents":[` + strings.Repeat(`{},`, size/3) + `{}]}`,
		"ledger": `{"schema":1,"ledger":[` + strings.Repeat(`{},`, size/3) + `{}]}`,
		"stack":  `{"schema":1,"agents":[{"stack":[` + strings.Repeat(`{},`, size/3) + `{}]}]}`,
		"depth":  `{"schema":1,"agents":` + strings.Repeat(`[`, size),
	} {
		data := []byte(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := state.Decode(data)
		runtime.ReadMemStats(&after)
		var bad *state.FileError
		if used := after.TotalAlloc - before.TotalAlloc; !errors.As(err, &bad) || used > 64<<20 {
			t.Errorf("%s: got %d MiB used and %v, want at most 64 MiB and an error of the file", name, used>>20, err)
		}
	}
}
