package state

import (
	"testing"
	"time"
)

// TestEnvelopeIsWrittenAsJSON holds the envelope that is written by hand to what the
// encoder makes of it.
func TestEnvelopeIsWrittenAsJSON(t *testing.T) {
	for _, odd := range []string{"", "main", `a "b"`, `back\slash`, "tab\t", "\x00", "\x7f", "é", "\u2028", "\xff", "<goto>&"} {
		e := Event{Seq: 7, Time: time.Unix(1, 5e6), Agent: odd, State: odd + ".sh", Exec: len(odd), Body: &RunFinished{}}
		want, err := marshal(envelope{
			Time: e.Time.UTC().Format(timeFormat), Seq: e.Seq, Type: e.Body.Type(), WorkflowID: odd, Agent: odd, State: e.State, Exec: e.Exec,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(e.appendEnvelope(nil, odd)) + "}"; got != string(want) {
			t.Errorf("%q:\ngot  %s\nwant %s", odd, got, want)
		}
	}
}
