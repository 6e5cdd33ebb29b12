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

// jobLog writes the texts of a step, without secrets: to the job log, as annotations, and as notes
// for the page and the comment. Only the goroutine of the step changes which values are hidden.
type jobLog struct {
	out     *job.LogWriter
	isPost  bool
	mask    *secrets.Set      // masks secrets; nil before hide
	all     *secrets.Set      // the same before words were exempted
	of      map[string]string // the masked values, by their source
	words   []string          // exempt from masking
	names   []string          // pairs of a path that users don't know and the text to show instead
	notes   []string          // for the end of the page
	differs []string          // differences found by a run that continues, as whole sentences
}

func newLog(out *job.LogWriter, isPost bool) *jobLog { return &jobLog{out: out, isPost: isPost} }

// hide masks the values of secrets and of other variables from now on. It returns the names of
// secrets that are too short to be masked. The runner gets only the secrets to mask: the other
// values are ordinary words for later steps, and GitHub drops a job output that contains a masked
// value.
func (l *jobLog) hide(known, others map[string]string, words []string) (short []string) {
	masks, short := secrets.New(known)
	l.of = maps.Clone(others)
	maps.Copy(l.of, known)
	l.all, _ = secrets.New(l.of)
	l.spare(words)
	if !l.isPost { // the main phase has told the runner, for the whole job
		for _, value := range masks.Except(l.words).Values() {
			l.out.AddMask(value)
		}
	}
	return short
}

// spare exempts words from masking, because a run could not be stored if they were masked.
func (l *jobLog) spare(words []string) {
	known := secrets.Unmaskable(l.of, l.words)
	l.words = append(l.words, words...)
	l.mask = l.all.Except(l.words)
	news := slices.DeleteFunc(secrets.Unmaskable(l.of, l.words), func(name string) bool { return slices.Contains(known, name) })
	if len(news) > 0 {
		l.warnOnce(fmt.Sprintf("not masked, because the names by which a run is stored contain it: the value of %s", strings.Join(news, ", ")))
	}
}

// spareStates exempts the names of states from masking, also in lower case, as in agents' ids.
func (l *jobLog) spareStates(names []string) {
	var words []string
	for _, name := range names {
		words = append(words, name, strings.ToLower(name))
	}
	l.spare(words)
}

// rename makes shown replace a path by a name that users know.
func (l *jobLog) rename(path, name string) { l.names = append(l.names, path, name) }

// shown returns a text without secrets and with the names from rename.
func (l *jobLog) shown(text string) string {
	text = l.mask.Text(text)
	if len(l.names) == 0 {
		return text
	}
	return strings.NewReplacer(l.names...).Replace(text)
}

// print writes a text to the job log without masking it.
func (l *jobLog) print(text string) { l.out.Print(text) }

// warn adds a warning to the job.
func (l *jobLog) warn(text string) { l.annotate(report.LevelWarning, text) }

// notice adds a notice to the job.
func (l *jobLog) notice(text string) { l.annotate(report.LevelNotice, text) }

func (l *jobLog) annotate(level, text string) {
	l.out.Annotate(report.Annotation{Level: level, Title: "raymond", Text: l.shown(text)})
}

// warnOnce adds a warning in the main phase only, because the post phase would repeat it.
func (l *jobLog) warnOnce(text string) {
	if !l.isPost {
		l.warn(text)
	}
}

// skip adds a notice with the reason and returns errSkipped, which ends the step green before a run
// is started.
func (l *jobLog) skip(why string) error {
	l.notice(why)
	return errSkipped
}

// end is like skip, but prints one line instead of a notice.
func (l *jobLog) end(why string) error {
	l.print(l.shown(why))
	return errSkipped
}

// reportLosses prints sentences about contents of a run that are not stored, and adds them to the
// end of the page.
func (l *jobLog) reportLosses(sentences []string) {
	for _, s := range sentences {
		l.print(l.shown(s))
	}
	l.note(sentences...)
}

// note adds sentences to the end of the page.
func (l *jobLog) note(sentences ...string) { l.notes = append(l.notes, sentences...) }

// say reports how a run continues: in the log, on the page and in the comment.
func (l *jobLog) say(text string) {
	l.differs = append(l.differs, sentence(text))
	l.notice(text)
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
