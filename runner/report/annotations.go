package report

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// The levels of an Annotation, as the job log knows them.
const (
	LevelError   = "error"
	LevelWarning = "warning"
	LevelNotice  = "notice"
)

// Annotation is a message that GitHub shows beside a file or on the page of the run.
type Annotation struct {
	Level string // LevelError, LevelWarning or LevelNotice
	File  string // relative to the repository, with slashes; "" for none
	Line  int    // 0 for none
	Title string
	Text  string // may have several lines
}

// JobLog is the log of a job. It makes everything harmless in lines, titles and
// annotations that the CI runner could take for a command.
type JobLog interface {
	// PrintStyled shows a line that may have colours of ours. Others wrote no control sequences in it.
	PrintStyled(line string)
	// PrintOwn is Paint for a line of our own words, in which others chose only names.
	PrintOwn(line string)
	// Group opens a group of lines. Groups never nest.
	Group(title string)
	EndGroup()
	Annotate(Annotation)
}

// GitHub shows ten annotations of each level for a step, and of each the first 4,096
// characters.
const (
	maxOfALevel   = 10
	maxAnnotation = 3950 // and a line that says what was left out
	maxWritten    = 3400 // of what a script wrote
	maxTitle      = 200
)

// Annotations shows what a person should not miss: an error for each failure, on the
// file of its state; a warning for retries, exhausted reminders, refused tools, most
// of the budget spent, and checkpoints that were not stored; a notice with the
// result. No annotation is repeated, and each level has ten at most: if there are
// more, the tenth says how many. Therefore the tenth of each is shown on Close.
type Annotations struct {
	log   JobLog
	scope func(state string) (file string)
	told  map[string]int        // how many of each level there were
	held  map[string]Annotation // the tenth of each level
	seen  map[[sha256.Size]byte]bool
	model *Model
	// ending says how the run ended. It waits until it is known what can be done next.
	ending *Annotation
}

// NewAnnotations returns Annotations to a job log. scope returns the path of a state's file
// relative to the repository, "" if the repository doesn't have it.
func NewAnnotations(log JobLog, m *Model, scope func(state string) (file string)) *Annotations {
	return &Annotations{log: log, scope: scope, told: map[string]int{}, held: map[string]Annotation{}, seen: map[[sha256.Size]byte]bool{}, model: m}
}

// Report implements Reporter.
func (a *Annotations) Report(e state.Event) error {
	switch b := e.Body.(type) {
	case *state.Retry:
		a.retry(e, b)
	case *state.NodeAttempt:
		if b.Reason == "no_transition_tag" {
			a.usedUp(e)
		}
	case *state.StateFinished:
		a.finish(e, b)
	case *state.Transition:
		a.move(b, e)
	case *state.AgentFinished:
		a.fail(e, b.Error)
	case *state.Limit:
		a.limit(b)
	case *state.Checkpoint:
		if b.Error != "" && a.model.Ending == nil { // the end of the step tells that the last one was not stored
			a.Annotate(Annotation{Level: LevelWarning, Title: "a checkpoint could not be stored" + inStore(b), Text: b.Error})
		}
	case *state.RunFinished:
		a.end(b)
	}
	return nil
}

// retry warns of each retry. While the service is out, only the first one counts.
func (a *Annotations) retry(e state.Event, b *state.Retry) {
	switch {
	case !b.Service:
		a.warn(e, "was tried again", b.Error)
	case b.N == 1:
		a.warn(e, "waits for the service", b.Error)
	}
}

// Annotate shows an annotation that comes from no event, such as a problem of a
// workflow. The same limits apply to it.
func (a *Annotations) Annotate(n Annotation) {
	n.Title = cut(n.Title, maxTitle)
	n.Text = middleOut(text.BreakCommandMark(n.Text), maxAnnotation)
	n.Text = cmp.Or(n.Text, n.Title) // GitHub shows none without a text
	key := sha256.Sum256([]byte(n.Level + "\x00" + n.File + "\x00" + n.Text))
	if a.seen[key] {
		return
	}
	a.seen[key] = true
	a.told[n.Level]++
	switch told := a.told[n.Level]; {
	case told < maxOfALevel:
		a.log.Annotate(n)
	case told == maxOfALevel:
		a.held[n.Level] = n
	}
}

// Close shows how the run ended, if Next was never called, and the tenth annotation
// of each level. Those after it are only lines of the log: GitHub accepts no more.
func (a *Annotations) Close() error {
	a.tellEnding("")
	for _, name := range []string{LevelError, LevelWarning, LevelNotice} {
		n, isHeld := a.held[name]
		if !isHeld {
			continue
		}
		if more := a.told[name] - maxOfALevel; more > 0 {
			said := fmt.Sprintf("\nand %s, which GitHub does not show here; the summary of the step tells of all", count(more, "more "+name))
			n.Text = middleOut(n.Text, maxAnnotation-len(said)) + said
		}
		a.log.Annotate(n)
	}
	return nil
}

// about returns an annotation on the file of an event's state, or on none if the
// name of the file could do harm.
func (a *Annotations) about(levelName string, e state.Event, what string) Annotation {
	n := Annotation{Level: levelName, Title: fmt.Sprintf("%s in %s %s", name(e.Agent), name(e.State), what)}
	if file := a.scope(e.State); plain(file) == file {
		n.File = file
	}
	return n
}

func (a *Annotations) warn(e state.Event, what, text string) {
	n := a.about(LevelWarning, e, what)
	n.Text = text
	a.Annotate(n)
}

// fail tells why an agent failed.
func (a *Annotations) fail(e state.Event, fault string) {
	if fault == "" {
		return
	}
	n := a.about(LevelError, e, "failed")
	agent := a.model.agents[e.Agent]
	n.Text = agent.why()
	outputs := agent.last.Outputs()
	for _, one := range outputs {
		n.Text += "\n" + one.Name + ":\n" + text.LastLines(one.Text, maxWritten/len(outputs))
	}
	if last := agent.last.verdict(); last != nil {
		n.Text += "\n" + failedOutput(last)
	}
	if n.File != "" {
		n.Line = lineIn(fault, e.State)
		for _, one := range outputs {
			n.Line = cmp.Or(n.Line, lineIn(one.Text, e.State))
		}
	}
	a.Annotate(n)
}

func (a *Annotations) finish(e state.Event, b *state.StateFinished) {
	if len(b.Denied) > 0 {
		a.warn(e, "was refused the use of tools", deniedText(b.AllRefusals()))
	}
	if !b.OK && strings.Contains(b.Error, " reminder") {
		a.usedUp(e)
	}
}

// move warns of a transition from a state that was not done. The agent did not fail:
// the workflow says what follows.
func (a *Annotations) move(b *state.Transition, e state.Event) {
	if x := a.model.agents[e.Agent].last; x != nil && x.Status == Failed && x.moves == 1 {
		a.warn(e, "was not done; on to "+name(b.Target), x.Error)
	}
}

// usedUp warns of answers that never had a valid tag.
func (a *Annotations) usedUp(e state.Event) {
	x := a.model.Last(e.Agent)
	if x == nil || len(x.Reminders) == 0 {
		return
	}
	last := x.Reminders[len(x.Reminders)-1]
	a.warn(e, "used up its reminders", count(len(x.Reminders), "reminder")+", the last because: "+last.Text)
}

// failedOutput returns what the commands wrote last that failed in an attempt.
func failedOutput(b *state.NodeAttempt) string {
	text := ""
	for _, r := range b.Results {
		if r.RC != 0 && len(text) < maxText {
			text += r.Tail
		}
	}
	return text
}

func deniedText(denied []state.Refusal) string {
	var b strings.Builder
	for _, r := range denied {
		b.WriteString(cut(r.Use, widestRefused))
		if r.Reason != "" {
			b.WriteString(": " + strings.TrimRight(r.Reason, "."))
		}
		if setting := remedy(r); setting != "" {
			b.WriteString(remedyIntro + setting)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// warnedShare is the share of the budget from which on there is a warning.
const warnedShare = 0.8

// limit warns of the budget. The end of the run, or the failure of an agent, tells of
// other limits and of unknown costs.
func (a *Annotations) limit(b *state.Limit) {
	if b.Which != "budget" || b.Value > b.Max || b.Value < warnedShare*b.Max || b.Max <= 0 {
		return
	}
	title := fmt.Sprintf("%d %% of the budget is spent", int(b.Value/b.Max*100))
	a.Annotate(Annotation{Level: LevelWarning, Title: title, Text: fmt.Sprintf("%s of $%.2f", b.Spent(), b.Max)})
}

// lineForms are how programs name a line of a file: a.sh:3, a.sh: line 3.
const lineForms = `(?::|: line )([1-9][0-9]{0,6})\b`

// lineIn returns the number of the first line of a file that a text names, 0 for
// none.
func lineIn(text, file string) int {
	form, err := regexp.Compile(`(?:^|[^A-Za-z0-9_.-])` + regexp.QuoteMeta(file) + lineForms)
	if file == "" || err != nil {
		return 0
	}
	m := form.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}
