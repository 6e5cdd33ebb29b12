package state

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 process": Count(1, "process"), "2 processes": Count(2, "process"), "0 states": Count(0, "state"), "1 retry": Count(1, "retry"),
		"2 retries": Count(2, "retry"), "3 branches": Count(3, "branch"), "2 days": Count(2, "day"),
	} {
		if got != want {
			t.Errorf("Count: got %q, want %q", got, want)
		}
	}
}
