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
	out       *job.LogWriter
	announces bool              // this is the main phase; the post phase would repeat what it reports about inputs
	mask      *secrets.Set      // masks secrets; nil before registerSecrets
	all       *secrets.Set      // the same before words were exempted
	sources   map[string]string // the masked values, by their source
	words     []string          // exempt from masking
	names     []string          // pairs of a path that users don't know and the text to show instead
	notes     []string          // for the end of the page
	changes   []string          // how a run continues, as whole sentences
}

func newLog(out *job.LogWriter, announces bool) *jobLog {
	return &jobLog{out: out, announces: announces}
}

// registerSecrets masks the values of secrets and of other variables from now on. It returns the names of
// secrets that are too short to be masked. The runner gets only the secrets to mask: the other
// values are ordinary words for later steps, and GitHub drops a job output that contains a masked
// value.
func (l *jobLog) registerSecrets(known, others map[string]string, words []string) (short []string) {
	masks, short := secrets.New(known)
	l.sources = maps.Clone(others)
	maps.Copy(l.sources, known)
	l.all, _ = secrets.New(l.sources)
	l.exempt(words)
	if l.announces { // the runner masks them for the whole job
		for _, value := range masks.Except(l.words).Values() {
			l.out.AddMask(value)
		}
	}
	return short
}

// exempt exempts words from masking, because a run could not be stored if they were masked.
func (l *jobLog) exempt(words []string) {
	known := secrets.Unmaskable(l.sources, l.words)
	l.words = append(l.words, words...)
	l.mask = l.all.Except(l.words)
	news := slices.DeleteFunc(secrets.Unmaskable(l.sources, l.words), func(name string) bool { return slices.Contains(known, name) })
	if len(news) > 0 {
		l.warnOnce(fmt.Sprintf("not masked, because the names by which a run is stored contain it: the value of %s", strings.Join(news, ", ")))
	}
}

// exemptStates exempts the names of states from masking, also in lower case, as in agents' ids.
func (l *jobLog) exemptStates(names []string) {
	var words []string
	for _, name := range names {
		words = append(words, name, strings.ToLower(name))
	}
	l.exempt(words)
}

// showAs makes shown replace a path by a name that users know.
func (l *jobLog) showAs(path, name string) { l.names = append(l.names, path, name) }

// shown returns a text without secrets and with the names from showAs.
func (l *jobLog) shown(text string) string {
	text = l.mask.Text(text)
	if len(l.names) == 0 {
		return text
	}
	return strings.NewReplacer(l.names...).Replace(text)
}

// Mask returns the values to mask in what is stored.
func (l *jobLog) Mask() *secrets.Set { return l.mask }

// print writes a text to the job log without masking it.
func (l *jobLog) print(text string) { l.out.Print(text) }

// Warn adds a warning to the job.
func (l *jobLog) Warn(text string) { l.annotate(report.LevelWarning, text) }

// Notice adds a notice to the job.
func (l *jobLog) Notice(text string) { l.annotate(report.LevelNotice, text) }

func (l *jobLog) annotate(level, text string) {
	l.out.Annotate(report.Annotation{Level: level, Title: "raymond", Text: l.shown(text)})
}

// warnOnce adds a warning in the main phase only, because the post phase would repeat it.
func (l *jobLog) warnOnce(text string) {
	if l.announces {
		l.Warn(text)
	}
}

// skip adds a notice with the reason and returns errSkipped, which ends the step green before a run
// is started.
func (l *jobLog) skip(why string) error {
	l.Notice(why)
	return errSkipped
}

// end is like skip, but prints one line instead of a notice.
func (l *jobLog) end(why string) error {
	l.print(l.shown(why))
	return errSkipped
}

// ReportLosses prints sentences about contents of a run that are not stored, and adds them to the
// end of the page.
func (l *jobLog) ReportLosses(sentences []string) {
	for _, s := range sentences {
		l.print(l.shown(s))
	}
	l.Note(sentences...)
}

// Note adds sentences to the end of the page.
func (l *jobLog) Note(sentences ...string) { l.notes = append(l.notes, sentences...) }

// Say reports how a run continues: in the log, on the page and in the comment.
func (l *jobLog) Say(text string) {
	l.changes = append(l.changes, sentence(text))
	l.Notice(text)
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
