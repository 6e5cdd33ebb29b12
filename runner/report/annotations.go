package report

import (
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

// Annotation is a remark that GitHub shows beside a file, or beside the job.
type Annotation struct {
	Level string // LevelError, LevelWarning or LevelNotice
	File  string // relative to the repository, with slashes; "" for none
	Line  int    // 0 for none
	Title string
	Text  string // may have several lines
}

// JobLog is the log of a job. It neutralises what could be a command in lines,
// titles and annotations.
type JobLog interface {
	Print(line string)
	// Paint is Print for a line in which stand colours, and no sequences that
	// others wrote.
	Paint(line string)
	// Say is Paint for a line of our own words, in which others chose no more than
	// names.
	Say(line string)
	// Group opens a group of lines; there is never one open already.
	Group(title string)
	EndGroup()
	Annotate(Annotation)
}

// AnnotationOptions say what Annotations know besides the events.
type AnnotationOptions struct {
	// Scope returns the path of a state's file relative to the repository, ""
	// when it has none there; nil stands for a Scope that never has one.
	Scope func(state string) (file string)
}

// What GitHub shows: of each level ten annotations of a step, and of each the
// first 4,096 characters.
const (
	mostOfALevel   = 10
	mostAnnotation = 4000
	mostWritten    = 3400 // of what a script wrote
	mostTitle      = 200
)

// Annotations tells what a person should not miss: an error for each failure, on
// the file of its state; a warning for retries, used up reminders, refused tools,
// most of the budget spent, and checkpoints that were not stored; a notice with
// the result. The same annotation comes once, and ten of a level at most: when
// there are more, the tenth says how many. It waits for that, an error for the
// end of the run, the others for Close.
type Annotations struct {
	log    JobLog
	o      AnnotationOptions
	levels map[string]*level
	seen   map[[sha256.Size]byte]bool
	budget state.USD
	// All are by agent: the last reminder of the attempt under way, the last
	// verdict of the state under way, and why the last state gave up.
	reminders map[string]*state.Reminder
	verdicts  map[string]string
	gaveUp    map[string]string
	outputs   map[string]outputs // of the last state
	// ending is how the run went, when it waits for what can be done next.
	ending *Annotation
	isOver bool // the run is at rest
}

// level is what was told of one level.
type level struct {
	told int
	over bool       // the tenth is told
	held Annotation // the tenth
	more int        // beyond it
}

// mostSeen is how many annotations are remembered, so that none comes twice.
const mostSeen = 10_000

// NewAnnotations returns Annotations to a job log.
func NewAnnotations(log JobLog, o AnnotationOptions) *Annotations {
	if o.Scope == nil {
		o.Scope = func(string) string { return "" }
	}
	return &Annotations{
		log: log, o: o, levels: map[string]*level{}, seen: map[[sha256.Size]byte]bool{},
		reminders: map[string]*state.Reminder{}, gaveUp: map[string]string{},
		verdicts: map[string]string{}, outputs: map[string]outputs{},
	}
}

// Report implements Reporter.
func (a *Annotations) Report(e state.Event) error {
	switch b := e.Body.(type) {
	case *state.RunStarted:
		a.budget, a.isOver = b.BudgetUSD, false
	case *state.StateStarted:
		delete(a.reminders, e.Agent)
		delete(a.verdicts, e.Agent)
	case *state.Reminder:
		a.reminders[e.Agent] = b
	case *state.Retry:
		a.retry(e, b)
	case *state.NodeAttempt:
		a.judge(e, b)
	case *state.StateFinished:
		a.finish(e, b)
	case *state.Transition:
		a.move(b, e)
	case *state.AgentFinished:
		delete(a.gaveUp, e.Agent)
		a.fail(e, b.Error)
		delete(a.outputs, e.Agent)
	case *state.Limit:
		a.limit(b)
	case *state.Checkpoint:
		a.checkpoint(b)
	case *state.RunFinished:
		a.isOver = true
		a.end(b)
		// What follows may take long, as the last upload, and be cut off.
		if a.ending == nil || a.ending.Level != LevelError {
			a.closeLevel(LevelError)
		}
	}
	return nil
}

// retry warns of an invocation that is tried again; of an outage of the service
// once.
func (a *Annotations) retry(e state.Event, b *state.Retry) {
	switch {
	case !b.Service:
		a.warn(e, "was tried again", b.Error)
	case b.N == 1:
		a.warn(e, "waits for the service", b.Error)
	}
}

// Annotate tells an annotation that is no event, as a problem of a workflow,
// within the same bounds.
func (a *Annotations) Annotate(n Annotation) {
	n.Title = cut(n.Title, mostTitle)
	n.Text = block(ends(n.Text, 4*mostAnnotation))
	n.Text = shorten(text.Unmarked(n.Text), mostAnnotation)
	if n.Text == "" {
		n.Text = n.Title // GitHub shows none without a text
	}
	key := sha256.Sum256([]byte(n.Level + "\x00" + n.File + "\x00" + n.Text))
	if a.seen[key] {
		return
	}
	if len(a.seen) < mostSeen {
		a.seen[key] = true
	}
	l := a.levels[n.Level]
	if l == nil {
		l = &level{}
		a.levels[n.Level] = l
	}
	switch l.told++; {
	case l.told < mostOfALevel || l.over:
		a.log.Annotate(n)
	case l.told == mostOfALevel:
		l.held = n
	default:
		l.more++
	}
}

// Close tells how the run went, if nobody knew what can be done next, and the
// tenth of each level.
func (a *Annotations) Close() error {
	a.tellEnding("")
	for _, name := range []string{LevelError, LevelWarning, LevelNotice} {
		a.closeLevel(name)
	}
	return nil
}

// closeLevel tells the tenth of a level, when there is one. What comes after it
// is for the log, where GitHub takes no more.
func (a *Annotations) closeLevel(name string) {
	l := a.levels[name]
	if l == nil || l.told < mostOfALevel || l.over {
		return
	}
	l.over = true
	if l.more > 0 {
		said := fmt.Sprintf("\nand %s, which GitHub does not show here; the summary of the step tells of all", count(l.more, "more "+name))
		l.held.Text = shorten(l.held.Text, mostAnnotation-len(said)) + said
	}
	a.log.Annotate(l.held)
}

// about is an annotation on the file of an event's state, unless its name is one
// that could do harm.
func (a *Annotations) about(levelName string, e state.Event, what string) Annotation {
	n := Annotation{Level: levelName, Title: fmt.Sprintf("%s in %s %s", name(e.Agent), name(e.State), what)}
	if file := a.o.Scope(e.State); plain(file) == file {
		n.File = file
	}
	return n
}

func (a *Annotations) warn(e state.Event, what, text string) {
	n := a.about(LevelWarning, e, what)
	n.Text = text
	a.Annotate(n)
}

// fail tells why an agent failed, which has told it as the end of its state too.
func (a *Annotations) fail(e state.Event, fault string) {
	if fault == "" {
		return
	}
	n := a.about(LevelError, e, "failed")
	wrote := a.outputs[e.Agent]
	n.Text = ErrorLines(wrote.without(fault))
	wrote.each(func(name, output string) {
		n.Text += "\n" + name + ":\n" + text.After(output, mostWritten/wrote.count())
	})
	if verdict := a.verdicts[e.Agent]; verdict != "" {
		n.Text += "\n" + verdict
	}
	if n.File != "" {
		n.Line = lineIn(fault+"\n"+wrote.stderr, e.State)
	}
	a.Annotate(n)
}

func (a *Annotations) finish(e state.Event, b *state.StateFinished) {
	if len(b.Denied) > 0 {
		a.warn(e, "was refused the use of tools", deniedText(refusals(b)))
	}
	if last := a.reminders[e.Agent]; last != nil && !b.OK && strings.HasSuffix(b.Error, "(after "+count(last.N, "reminder")+")") {
		a.usedUp(e, last)
	}
	delete(a.reminders, e.Agent)
	a.outputs[e.Agent] = outputsOf(b)
	if !b.OK {
		a.gaveUp[e.Agent] = b.Error
	}
}

// move warns when the run goes on after a state that was not done: the workflow
// says what is to come then, so it is no failure of the agent.
func (a *Annotations) move(b *state.Transition, e state.Event) {
	if fault, ok := a.gaveUp[e.Agent]; ok {
		a.warn(e, "was not done; on to "+name(b.Target), fault)
		delete(a.gaveUp, e.Agent)
	}
}

// judge warns of an attempt whose answers never had a legal transition. The next
// one has reminders of its own.
func (a *Annotations) judge(e state.Event, b *state.NodeAttempt) {
	a.verdicts[e.Agent] = verdictText(b) + "\n" + failedOutput(b)
	if last := a.reminders[e.Agent]; last != nil && b.Reason == "no_transition_tag" {
		a.usedUp(e, last)
	}
	delete(a.reminders, e.Agent)
}

func (a *Annotations) usedUp(e state.Event, last *state.Reminder) {
	a.warn(e, "used up its reminders", fmt.Sprintf("%s, the last because: %s", count(last.N, "reminder"), last.Reason))
}

// failedOutput is what the commands wrote last because of which an attempt is not
// done.
func failedOutput(b *state.NodeAttempt) string {
	text := ""
	for _, r := range b.Results {
		if r.RC != 0 && len(text) < mostText {
			text += r.Tail
		}
	}
	return text
}

// mostDenied is how many refused tool uses a warning names.
const mostDenied = 20

func deniedText(denied []state.Refusal) string {
	var b strings.Builder
	for _, r := range denied[:min(len(denied), mostDenied)] {
		b.WriteString(cut(r.Use, widestRefused))
		if r.Reason != "" {
			b.WriteString(": " + strings.TrimRight(r.Reason, "."))
		}
		if intro, setting := remedy(r); setting != "" {
			b.WriteString("; " + intro + setting)
		}
		b.WriteByte('\n')
	}
	if more := len(denied) - mostDenied; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return b.String()
}

// mostSpent is the part of the budget from which on it is warned of.
const mostSpent = 0.8

// limit warns of the budget. The end of the run tells of the other limits, of a
// run that ends because its costs are unknown, and the failure of an agent.
func (a *Annotations) limit(b *state.Limit) {
	if b.Which != "budget" || b.Value > b.Max || b.Value < mostSpent*b.Max || b.Max <= 0 {
		return
	}
	title := fmt.Sprintf("%d %% of the budget is spent", int(b.Value/b.Max*100))
	a.Annotate(Annotation{Level: LevelWarning, Title: title, Text: fmt.Sprintf("%s of $%.2f", b.Spent(), b.Max)})
}

func (a *Annotations) checkpoint(b *state.Checkpoint) {
	if b.Error == "" {
		return
	}
	if a.isOver {
		return // the last one: the end of the step tells of it
	}
	a.Annotate(Annotation{Level: LevelWarning, Title: "a checkpoint could not be stored" + inStore(b), Text: b.Error})
}

// lineForms are how programs name a line of a file: a.sh:3, a.sh: line 3.
const lineForms = `(?::|: line )([1-9][0-9]{0,6})\b`

// lineIn returns the first line of a file that a text names, 0 when it names none.
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

// shorten cuts a text down to a number of characters, of which two thirds are
// its beginning.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	const gap = "\n…\n"
	room := most - len([]rune(gap))
	return string(runes[:room*2/3]) + gap + string(runes[len(runes)-(room-room*2/3):])
}
