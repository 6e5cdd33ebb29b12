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

// voice is how a step speaks: to the job log and by annotations, without secrets.
// Only the goroutine of the step changes what it hides.
type voice struct {
	log    *job.Commands
	isPost bool
	mask   *secrets.Set      // what is hidden; nil before hide
	all    *secrets.Set      // before words were spared
	of     map[string]string // the values, by where they come from
	words  []string          // that are spared
	told   []string          // what is known to be spared
	names  []string          // pairs of a path that means nothing to anybody, and what is shown instead
}

func newVoice(log *job.Commands, isPost bool) *voice { return &voice{log: log, isPost: isPost} }

// hide has values hidden from now on: those of secrets, and of other variables. It
// returns the secrets that are too short for that. The runner is told of the
// secrets alone: in the steps that follow the others are words like any, and a
// job's output that has a masked word in it would be dropped.
func (v *voice) hide(known, others map[string]string, words []string) (short []string) {
	masks, short := secrets.New(known)
	v.of = maps.Clone(others)
	maps.Copy(v.of, known)
	v.all, _ = secrets.New(v.of)
	v.spare(words)
	if !v.isPost { // the main part has told them, and they hold for all of the job
		for _, value := range masks.Sparing(v.words).Values() {
			v.log.AddMask(value)
		}
	}
	return short
}

// spare lets words go unmasked: those without which a run can't be kept.
func (v *voice) spare(words []string) {
	v.words = append(v.words, words...)
	v.mask = v.all.Sparing(v.words)
	var news []string
	for _, name := range secrets.Spared(v.of, v.words) {
		if !slices.Contains(v.told, name) {
			news = append(news, name)
		}
	}
	if v.told = append(v.told, news...); len(news) > 0 {
		v.warnOnce(fmt.Sprintf("not masked, since a run is kept by words that have it in them: the value of %s", strings.Join(news, ", ")))
	}
}

// spareStates lets the names of states go unmasked, as they are and as the ids of
// agents have them.
func (v *voice) spareStates(names []string) {
	var words []string
	for _, name := range names {
		words = append(words, name, strings.ToLower(name))
	}
	v.spare(words)
}

// rename has a path shown as something that people know.
func (v *voice) rename(path, name string) { v.names = append(v.names, path, name) }

// shown is a text as people may see it.
func (v *voice) shown(text string) string {
	text = v.mask.Text(text)
	if len(v.names) == 0 {
		return text
	}
	return strings.NewReplacer(v.names...).Replace(text)
}

// now is what shown does at this moment, for any goroutine.
func (v *voice) now() func(text string) string {
	fixed := voice{mask: v.mask, names: slices.Clone(v.names)}
	return fixed.shown
}

// print writes to the job log. The text is shown as it is.
func (v *voice) print(text string) { v.log.Print(text) }

// warn tells something that ends nothing.
func (v *voice) warn(text string) { v.annotate(report.LevelWarning, text) }

// notice tells something that is worth to be known.
func (v *voice) notice(text string) { v.annotate(report.LevelNotice, text) }

func (v *voice) annotate(level, text string) {
	v.log.Annotate(report.Annotation{Level: level, Title: "raymond", Text: v.shown(text)})
}

// warnOnce tells in the main part what holds for the post part too.
func (v *voice) warnOnce(text string) {
	if !v.isPost {
		v.warn(text)
	}
}
