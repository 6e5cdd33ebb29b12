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

// The levels of annotations, with the names that GitHub uses.
const (
	LevelError   = "error"
	LevelWarning = "warning"
	LevelNotice  = "notice"
)

// Annotation is a message that GitHub shows at a line of a file or on the page of the workflow run.
type Annotation struct {
	Level string // LevelError, LevelWarning or LevelNotice
	File  string // path in the repository, with slashes; "" if the annotation belongs to no file
	Line  int    // 0 if the annotation belongs to no line
	Title string
	Text  string // may have several lines
}

// JobLog is the log of a CI job. It escapes whatever the CI runner could interpret as a command in
// lines, titles and annotations.
type JobLog interface {
	// PrintStyled prints a line. The line may contain raymond's color sequences, but no other
	// control characters.
	PrintStyled(line string)
	// PrintOwn is like PrintStyled, for a line that consists of raymond's own words and of names.
	PrintOwn(line string)
	// Group starts a group of lines. Groups can't contain groups.
	Group(title string)
	EndGroup()
	Annotate(Annotation)
}

// The limits for annotations. GitHub shows ten annotations of each level for each step, and the
// first 4,096 characters of each annotation.
const (
	maxPerLevel     = 10
	maxAnnotation   = 3950 // bytes of a text; leaves room for a note that something was left out
	maxScriptOutput = 3400 // bytes of a script's output in a text
	maxTitle        = 200
)

// Annotations shows the most important facts as annotations. There is an error for each failure, at
// the file of the failed state. There are warnings for retries, for agents that used all reminders,
// for agents that left a state although their work was not done, for denied tool calls, when most of
// the budget is spent, and for checkpoints that could not be stored. A notice contains the result.
// Repeated annotations are dropped, and each level has at most ten. The tenth also contains the
// number of annotations that were left out, so only Close shows it.
type Annotations struct {
	log    JobLog
	scope  func(state string) (file string)
	counts map[string]int        // number of annotations so far, by level
	tenth  map[string]Annotation // the tenth annotation of each level, which Close shows
	seen   map[[sha256.Size]byte]bool
	model  *Model
	// ending is the annotation for the end of the run. Next shows it. If Next is not called, Close
	// does.
	ending *Annotation
}

// NewAnnotations returns Annotations that are written to a job log. scope returns the path of a
// state's file in the repository, or "" if the repository does not contain the file.
func NewAnnotations(log JobLog, m *Model, scope func(state string) (file string)) *Annotations {
	return &Annotations{log: log, scope: scope, counts: map[string]int{}, tenth: map[string]Annotation{}, seen: map[[sha256.Size]byte]bool{}, model: m}
}

// Report implements Reporter.
func (a *Annotations) Report(e state.Event) error {
	switch b := e.Body.(type) {
	case *state.Retry:
		switch {
		case !b.Service:
			a.annotateState(LevelWarning, e, "was tried again", b.Error, 0)
		case b.N == 1: // the service is unavailable
			a.annotateState(LevelWarning, e, "waits for the service", b.Error, 0)
		}
	case *state.NodeAttempt:
		if b.Reason == "no_transition_tag" {
			a.warnReminders(e)
		}
	case *state.StateFinished:
		if len(b.Denied) > 0 {
			var refused []string
			for _, r := range b.AllRefusals() {
				refused = append(refused, withoutQuotes(refusalText(r)))
			}
			a.annotateState(LevelWarning, e, "was refused tool uses", strings.Join(refused, "\n"), 0)
		}
		if !b.OK && strings.Contains(b.Error, " reminder") {
			a.warnReminders(e)
		}
	case *state.Transition:
		a.warnNotDone(e, b)
	case *state.AgentFinished:
		if b.Error != "" {
			a.annotateFailure(e, b.Error)
		}
	case *state.Limit:
		a.warnBudget(b)
	case *state.Checkpoint:
		// If the last checkpoint could not be stored, the end of the step reports it.
		if b.Error != "" && a.model.Ending == nil {
			a.Annotate(Annotation{Level: LevelWarning, Title: "a checkpoint could not be stored" + inStore(b), Text: b.Error})
		}
	case *state.RunFinished:
		a.prepareEnding(b)
	}
	return nil
}

// Annotate shows an annotation that belongs to no event, such as a problem in a workflow. The
// annotation counts towards the limit for its level.
func (a *Annotations) Annotate(n Annotation) {
	n.Title = cut(n.Title, maxTitle)
	n.Text = shortenMiddle(text.BreakCommandMark(n.Text), maxAnnotation)
	n.Text = cmp.Or(n.Text, n.Title) // GitHub ignores annotations without a text
	key := sha256.Sum256([]byte(n.Level + "\x00" + n.File + "\x00" + n.Text))
	if a.seen[key] {
		return
	}
	a.seen[key] = true
	a.counts[n.Level]++
	switch number := a.counts[n.Level]; {
	case number < maxPerLevel:
		a.log.Annotate(n)
	case number == maxPerLevel:
		a.tenth[n.Level] = n
	}
}

// Close shows the tenth annotation of each level. If Next was not called, it also shows how the run
// ended. Annotations after the tenth are not shown, because GitHub would not show them.
func (a *Annotations) Close() error {
	_ = a.Next("") // never returns an error
	for _, name := range []string{LevelError, LevelWarning, LevelNotice} {
		n, isHeld := a.tenth[name]
		if !isHeld {
			continue
		}
		if more := a.counts[name] - maxPerLevel; more > 0 {
			note := fmt.Sprintf("\nand %s, which GitHub does not show here; the step summary lists all", state.Count(more, "more "+name))
			n.Text = shortenMiddle(n.Text, maxAnnotation-len(note)) + note
		}
		a.log.Annotate(n)
	}
	return nil
}

// annotateState shows an annotation at the file of an event's state, with the title "AGENT in STATE"
// and what. The annotation has no file and no line if the repository doesn't contain the file, or if
// the file's path is not plain text.
func (a *Annotations) annotateState(level string, e state.Event, what, text string, line int) {
	n := Annotation{Level: level, Title: fmt.Sprintf("%s in %s %s", name(e.Agent), name(e.State), what), Text: text}
	if file := a.scope(e.State); file != "" && plain(file) == file {
		n.File, n.Line = file, line
	}
	a.Annotate(n)
}

// annotateFailure shows an error with the reason why an agent failed.
func (a *Annotations) annotateFailure(e state.Event, fault string) {
	agent, line := a.model.agents[e.Agent], lineNumberIn(fault, e.State)
	shown, outputs := agent.reason(), agent.last.Outputs()
	for _, one := range outputs {
		shown += "\n" + one.Name + ":\n" + text.LastLines(one.Text, maxScriptOutput/len(outputs))
		line = cmp.Or(line, lineNumberIn(one.Text, e.State))
	}
	if last := agent.last.lastVerdict(); last != nil {
		shown += "\n" + failedOutput(last)
	}
	a.annotateState(LevelError, e, "failed", shown, line)
}

// warnNotDone warns that an agent has left a state although its work was not done. This is not an
// error, since the workflow defines how to continue.
func (a *Annotations) warnNotDone(e state.Event, b *state.Transition) {
	if x := a.model.agents[e.Agent].last; x != nil && x.Status == Failed && x.transitionCount == 1 {
		a.annotateState(LevelWarning, e, "was not done; continues with "+name(b.Target), x.Error, 0)
	}
}

// warnReminders warns about an agent that got all reminders and still sent no valid tag.
func (a *Annotations) warnReminders(e state.Event) {
	x := a.model.Last(e.Agent)
	if x == nil || len(x.Reminders) == 0 {
		return
	}
	last := x.Reminders[len(x.Reminders)-1]
	a.annotateState(LevelWarning, e, "used up its reminders", state.Count(len(x.Reminders), "reminder")+", the last because: "+last.Text, 0)
}

// budgetWarningShare is the share of the budget that must be spent before there is a warning.
const budgetWarningShare = 0.8

// warnBudget warns if at least budgetWarningShare of the budget is spent. It ignores an exceeded
// budget and other limits: the end of the run or the failure of an agent reports them.
func (a *Annotations) warnBudget(b *state.Limit) {
	if b.Which != "budget" || b.Value > b.Max || b.Value < budgetWarningShare*b.Max || b.Max <= 0 {
		return
	}
	title := fmt.Sprintf("%d %% of the budget is spent", int(b.Value/b.Max*100))
	a.Annotate(Annotation{Level: LevelWarning, Title: title, Text: fmt.Sprintf("%s of $%.2f", b.Spent(), b.Max)})
}

// lineForms matches a line number that follows a file name, as in "a.sh:3" and "a.sh: line 3".
const lineForms = `(?::|: line )([1-9][0-9]{0,6})\b`

// lineNumberIn returns the first line number that a text gives for a file, or 0 if it gives no
// line.
func lineNumberIn(text, file string) (line int) {
	form, err := regexp.Compile(`(?:^|[^A-Za-z0-9_.-])` + regexp.QuoteMeta(file) + lineForms)
	if file == "" || err != nil {
		return 0
	}
	if m := form.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	return line
}

// prepareEnding prepares the annotation about the end of the run. If the run has completed, the
// annotation is shown immediately, without next steps.
func (a *Annotations) prepareEnding(b *state.RunFinished) {
	n := Annotation{Level: LevelNotice, Title: strings.ReplaceAll(name(string(b.Status)), "_", " ") + " " + a.model.costSummary(b), Text: state.WithoutCode(b.Reason)}
	switch b.Status {
	case state.Completed:
		n.Text = "without a result"
		if b.Result != nil {
			n.Text = cmp.Or(string(*b.Result), "with an empty result")
		}
	case state.Suspended:
		// Each question becomes one line, so that no part of it can look like a line of the annotation.
		open := waitsOfKind(a.model.openWaits(), state.ForAnswer)
		for _, w := range open[:min(len(open), maxQuoted)] {
			n.Text += fmt.Sprintf("\nQuestion %d: %s", w.Number, cut(w.Question, maxAnnotation/(2*maxQuoted)))
		}
		if more := len(open) - maxQuoted; more > 0 {
			n.Text += "\nand " + state.Count(more, "more question")
		}
	case state.Failed:
		// If an agent has failed, the agent's annotation already contains the reason.
		if a.counts[LevelError] == 0 {
			n.Level = LevelError
		} else {
			n.Text = failedAgent(b.Reason)
		}
	case state.Cancelled:
		n.Level = LevelWarning
	default:
		n.Level = LevelError
	}
	if a.ending = &n; b.Status == state.Completed {
		_ = a.Next("") // never returns an error
	}
}

// maxQuoted is the maximum number of open questions in an annotation.
const maxQuoted = 3

// Next shows how the run ended and how to continue it. Only the first call after the end of the run has
// an effect.
func (a *Annotations) Next(text string) error {
	n := a.ending
	if n == nil {
		return nil
	}
	a.ending = nil
	if text != "" {
		n.Text = strings.TrimSpace(shortenMiddle(n.Text, maxAnnotation/2) + "\nNext: " + withoutBackticks(text))
	}
	a.Annotate(*n)
	return nil
}
