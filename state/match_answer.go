package state

import "strings"

// MatchAnswer returns the answer that text gives to the question. If the question has choices, this
// is the choice equal to text apart from case and surrounding blanks, and false without a match.
// Without choices every text is an answer, returned unchanged.
func (q *Question) MatchAnswer(text string) (string, bool) {
	if len(q.Choices) == 0 {
		return text, true
	}
	for _, c := range q.Choices {
		if strings.EqualFold(strings.TrimSpace(c), strings.TrimSpace(text)) {
			return c, true
		}
	}
	return "", false
}
