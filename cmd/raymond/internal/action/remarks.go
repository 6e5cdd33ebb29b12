package action

import (
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/runner/report"
)

// kept says how much of a run is stored.
type kept struct {
	artifact string      // the name of the one with the last checkpoint; "" for none
	named    slots.Named // the last checkpoint; zero for none
	isWhole  bool        // that has the end of the run
	byPost   bool        // the post part has stored it
	report   report.Link // to the report; zero for none
	lost     string      // why nothing of the run may be stored; "" when it may
}

// remarks are what people are told of how a run begins or continues, beside its
// events.
type remarks struct {
	notes   []string // for the end of the page
	differs []string // what a run that continues found different, whole sentences
	losses  []string // what the run will not be able to do later, to be said before it spends
	isBlind bool     // later workflow runs can't look for the run
}

// say tells something about how the run continues, in log, page and comment.
func (r *remarks) say(s *step, text string) {
	r.differs = append(r.differs, sentence(text))
	s.voice.notice(text)
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
