package state

import "strings"

// MatchAnswer returns the answer that text gives to the question. If the question has choices, the answer
// is the choice that equals text, ignoring case and surrounding spaces. If no choice equals text,
// MatchAnswer returns false. Without choices, every text is an answer and is returned unchanged.
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
