package action

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner/report"
)

// jobLog is how a step speaks, without secrets: to the job log, by annotations, and with what
// page and comment say besides the events of a run. Only the goroutine of the step changes
// what it hides.
type jobLog struct {
	out     *job.LogWriter
	isPost  bool
	mask    *secrets.Set      // what is hidden; nil before hide
	all     *secrets.Set      // before words were spared
	of      map[string]string // the values, by where they come from
	words   []string          // that are spared
	names   []string          // pairs of a path that means nothing to anybody, and what is shown instead
	notes   []string          // for the end of the page
	differs []string          // what a run that continues found different, whole sentences
}

func newLog(out *job.LogWriter, isPost bool) *jobLog { return &jobLog{out: out, isPost: isPost} }

// hide has values hidden from now on: those of secrets, and of other variables. It
// returns the secrets that are too short for that. The runner is told of the
// secrets alone: in the steps that follow the others are words like any, and a
// job's output that has a masked word in it would be dropped.
func (l *jobLog) hide(known, others map[string]string, words []string) (short []string) {
	masks, short := secrets.New(known)
	l.of = maps.Clone(others)
	maps.Copy(l.of, known)
	l.all, _ = secrets.New(l.of)
	l.spare(words)
	if !l.isPost { // the main part has told them, and they hold for all of the job
		for _, value := range masks.Except(l.words).Values() {
			l.out.AddMask(value)
		}
	}
	return short
}

// spare lets words go unmasked: those without which a run can't be kept.
func (l *jobLog) spare(words []string) {
	known := secrets.Unmaskable(l.of, l.words)
	l.words = append(l.words, words...)
	l.mask = l.all.Except(l.words)
	news := slices.DeleteFunc(secrets.Unmaskable(l.of, l.words), func(name string) bool { return slices.Contains(known, name) })
	if len(news) > 0 {
		l.warnOnce(fmt.Sprintf("not masked, since a run is kept by words that have it in them: the value of %s", strings.Join(news, ", ")))
	}
}

// spareStates lets the names of states go unmasked, as they are and as the ids of
// agents have them.
func (l *jobLog) spareStates(names []string) {
	var words []string
	for _, name := range names {
		words = append(words, name, strings.ToLower(name))
	}
	l.spare(words)
}

// rename has a path shown as something that people know.
func (l *jobLog) rename(path, name string) { l.names = append(l.names, path, name) }

// shown is a text as people may see it.
func (l *jobLog) shown(text string) string {
	text = l.mask.Text(text)
	if len(l.names) == 0 {
		return text
	}
	return strings.NewReplacer(l.names...).Replace(text)
}

// print writes to the job log. The text is shown as it is.
func (l *jobLog) print(text string) { l.out.Print(text) }

// warn tells something that ends nothing.
func (l *jobLog) warn(text string) { l.annotate(report.LevelWarning, text) }

// notice tells something that is worth to be known.
func (l *jobLog) notice(text string) { l.annotate(report.LevelNotice, text) }

func (l *jobLog) annotate(level, text string) {
	l.out.Annotate(report.Annotation{Level: level, Title: "raymond", Text: l.shown(text)})
}

// warnOnce tells in the main part what holds for the post part too.
func (l *jobLog) warnOnce(text string) {
	if !l.isPost {
		l.warn(text)
	}
}

// skip ends the step green, with nothing started, and says why.
func (l *jobLog) skip(why string) error {
	l.notice(why)
	return errSkipped
}

// end ends it with one line.
func (l *jobLog) end(why string) error {
	l.print(l.shown(why))
	return errSkipped
}

// reportLosses prints which parts of a run are not stored, and adds that to the end of the page.
func (l *jobLog) reportLosses(sentences []string) {
	for _, s := range sentences {
		l.print(l.shown(s))
	}
	l.note(sentences...)
}

// note adds a sentence to the end of the page.
func (l *jobLog) note(sentences ...string) { l.notes = append(l.notes, sentences...) }

// say tells something about how a run continues, here, on the page and in the comment.
func (l *jobLog) say(text string) {
	l.differs = append(l.differs, sentence(text))
	l.notice(text)
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
