package report

import (
	"fmt"
	"strings"
)

const (
	// mostGlance is how long the run at a glance may be, in bytes. GitHub takes
	// comments of 65,536 characters.
	mostGlance      = 8<<10 - 1
	mostGlanceFault = 600 // bytes of what failed
	linesAtAGlance  = 10  // of a fault and of a result
)

// Glance returns the run at a glance in Markdown, less than 8 KiB of it, as for a
// comment that is edited in place: the headline and the figures in the words of
// the summary, what failed first, the result, cut short, and what to do next. It
// is "" before the first event. As in the summary, nothing of what agents and
// scripts wrote is read as Markdown; secrets are for the caller to mask.
func (s *Summary) Glance() string {
	if !s.hasBegun() {
		return ""
	}
	for room := mostGlance / 8; ; room /= 2 {
		if text := s.glance(room); len(text) <= mostGlance || room == 0 {
			return text
		}
	}
}

// hasBegun reports whether there is anything to tell.
func (s *Summary) hasBegun() bool {
	return s.fault != "" || s.tale.opening != nil || s.tale.ending != nil || len(s.tale.actors) > 0
}

// glance is the run at a glance, with room bytes for each text.
func (s *Summary) glance(room int) string {
	var b strings.Builder
	s.headline(&b)
	s.differences(&b)
	s.atWork(&b)
	s.firstFailure(&b, min(room, mostGlanceFault))
	s.standstill(&b)
	s.goOn(&b, room)
	s.shortResult(&b, room)
	return b.String()
}

// mostFound is how many differences are told.
const mostFound = 5

// differences says what the run found different from what it left.
func (s *Summary) differences(b *strings.Builder) {
	for _, text := range s.o.Found[:min(len(s.o.Found), mostFound)] {
		b.WriteString(prose(text, widestNote) + "\n\n")
	}
}

// firstFailure says which agent failed first, and why; of the others how many.
func (s *Summary) firstFailure(b *strings.Builder, room int) {
	if s.fault != "" {
		glimpse{what: "The step ended with an error", p: keep(s.fault, mostText), lines: linesAtAGlance}.brief(b, room)
	}
	failed := s.tale.failed()
	if len(failed) == 0 {
		s.reason(b, room)
		return
	}
	a := failed[0]
	g := glimpse{what: a.failedWhere() + andMore(len(failed)-1), p: a.fault, lines: linesAtAGlance}
	g.brief(b, room)
	a.outputs.each(func(name, text string) {
		glimpse{what: "The end of its " + name, p: keepEnd(text, mostOutput), lines: linesAtAGlance}.brief(b, room/a.outputs.count())
	})
	if last := a.lastTry(); last != nil {
		last.explain(b, linesAtAGlance, room)
	}
}

// brief writes what is in the open, without the fold.
func (g glimpse) brief(b *strings.Builder, most int) {
	shown, _ := g.few(most)
	g.open(b, shown)
}

func andMore(agents int) string {
	if agents == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s failed)", count(agents, "more agent"))
}

func (s *Summary) shortResult(b *strings.Builder, room int) {
	switch {
	case s.tale.result.isEmpty():
	case s.linked() != "":
		b.WriteString(s.linked())
	default:
		glimpse{what: "**Result**", p: s.tale.result, lines: linesAtAGlance, fromTop: true, isProse: true}.brief(b, room)
		if room > longestLink {
			b.WriteString(s.otherLinks())
		}
	}
}
