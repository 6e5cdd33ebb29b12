package state

import "strings"

// MatchAnswer returns the answer that a text is to the question: with choices the one that it
// names, as it is spelled there, and false when it names none. Blanks around a choice and
// case don't count. Without choices it is the text itself, byte for byte.
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
