package state_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestAnswersMatchChoicesLoosely checks that MatchAnswer ignores case and surrounding spaces, and that it
// returns the answer to a question without choices unchanged.
func TestAnswersMatchChoicesLoosely(t *testing.T) {
	for _, c := range []struct {
		choices    []string
		text, want string
		ok         bool
	}{
		{[]string{"Yes", "No, thanks"}, " yes\n", "Yes", true},
		{[]string{"Yes", "No, thanks"}, "no, THANKS", "No, thanks", true},
		{[]string{"Yes", "No, thanks"}, "no", "", false},
		{[]string{"Yes"}, "", "", false},
		{nil, " as it is \n", " as it is \n", true},
		{nil, "", "", true},
	} {
		q := state.Question{Choices: c.choices}
		if got, ok := q.MatchAnswer(c.text); got != c.want || ok != c.ok {
			t.Errorf("%q of %q: got %q, %v, want %q, %v", c.text, c.choices, got, ok, c.want, c.ok)
		}
	}
}
