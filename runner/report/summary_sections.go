package report

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// minSection is the minimum size of an agent's section in bytes. If the room is too small for all
// agents, the last ones get no section.
const minSection = 4 << 10

// agents returns the agents that the summary shows, at most maxAgents.
func (s *Summary) agents() []*Agent { return s.model.Agents[:min(len(s.model.Agents), maxAgents)] }

// sections returns a folded section for each agent, with a total of at most room bytes. Failed
// agents come first, then active agents. isCut reports whether anything was left out.
func (s *Summary) sections(room int) (text string, isCut bool) {
	agents := slices.Clone(s.agents())
	if len(agents) == 0 {
		return "", false
	}
	slices.SortStableFunc(agents, func(a, b *Agent) int { return sectionOrder[a.Status] - sectionOrder[b.Status] })
	const heading, missing = "### Agents\n\n", "%s not shown here.\n\n"
	var b strings.Builder
	b.WriteString(heading)
	room -= len(heading) + len(missing) + len("1000000 agents")
	hidden, isExplained := len(s.model.Agents)-len(agents), len(s.failedAgents()) <= maxExplained
	for i, a := range agents {
		share := min(room, max(minSection, room/(len(agents)-i)))
		w := &writer{room: share}
		section := s.section(a, w, isExplained)
		if section == "" {
			hidden++
		}
		room -= len(section)
		isCut = isCut || w.isCut
		b.WriteString(section)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, missing, state.Count(hidden, "agent"))
	}
	return b.String(), isCut
}

// sectionOrder contains the place of an agent's section, by the agent's status.
var sectionOrder = map[string]int{Failed: 0, Running: 1, statusWaiting: 1, statusEnded: 2}

// section returns the folded section of an agent, or "" if w has too little room. isExplained is
// set if the top of the summary already explains all failures.
func (s *Summary) section(a *Agent, w *writer, isExplained bool) string {
	const end = "</details>\n\n"
	w.room -= len(end)
	w.printf("<details><summary>%s %s, %s, %s</summary>\n\n",
		htmlCode(a.ID), a.statusWords(), state.Count(a.Executions, "state"), a.Spent.Spent)
	if w.room < 0 {
		w.isCut = true
		return ""
	}
	if a.Parent != "" {
		w.writeIfRoom(fmt.Sprintf("Forked by %s.\n\n", code(a.Parent, widestName)))
	}
	switch {
	case a.Status == Failed && isExplained:
	case a.Status == Failed:
		writeText(w, "Why it failed", a.reason())
	case a.hasResult && a.ID == firstAgent:
	case a.hasResult && a.Result == "":
		w.writeIfRoom("Its result is empty.\n\n")
	case a.hasResult:
		writeText(w, "Its result", a.Result)
	case a.transition != nil:
		w.writeIfRoom(fmt.Sprintf("Its last transition: %s\n\n", code(transitionText(a.transition), widestTransition)))
	}
	if lines := strings.Join(a.lines, "\n"); lines != "" {
		writeText(w, "What it said last", lines)
	}
	refused := ""
	for _, r := range a.refusals {
		refused += "- " + quotesAsCode(refusalText(r)) + "\n"
	}
	if a.unlisted > 0 {
		refused += fmt.Sprintf("- and %d more\n", a.unlisted)
	}
	if refused != "" {
		w.writeIfRoom("Refused tool uses, why, and what would allow them:\n\n" + refused + "\n")
	}
	s.writeAttempts(w, a)
	names := slices.SortedFunc(maps.Keys(a.toolUses), func(x, y string) int { // most used first
		return cmp.Or(a.toolUses[y]-a.toolUses[x], cmp.Compare(x, y))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d×", codeSpan(name), a.toolUses[name])
	}
	if len(names) > 0 {
		w.writeIfRoom("Tools used: " + strings.Join(names, ", ") + "\n\n")
	}
	return w.b.String() + end
}

// statusWords returns the status of an agent in words, as HTML.
func (a *Agent) statusWords() string {
	switch {
	case a.Status == Failed:
		return "failed in " + htmlCode(a.State)
	case a.hasResult:
		return "ended with a result"
	case a.Status == statusEnded:
		return "ended"
	case a.Status == statusWaiting:
		return "waits before " + htmlCode(a.State)
	}
	return "is at " + htmlCode(a.State)
}

// writeText writes a text in a fenced code block, shortened to the remaining room.
func writeText(w *writer, what, text string) {
	w.text(text, maxText, func(shown string) string { return fmt.Sprintf("%s:\n\n%s\n", what, fence(wrap(shown))) })
}

// maxAttempts is the maximum number of attempts in an agent's table.
const maxAttempts = 20

// writeAttempts writes a table of an agent's last attempts, and the output of the command that
// failed in the last attempt.
func (s *Summary) writeAttempts(w *writer, a *Agent) {
	var rows []string
	for _, x := range s.model.Executions {
		for i := range x.Attempts {
			one := &x.Attempts[i]
			if x.Agent != a.ID {
				break
			}
			verdict := "done"
			switch {
			case !one.Converged:
				verdict = prose(one.FailureText(), widestReason)
			case one.Attempt > 1:
				verdict = fmt.Sprintf("done at attempt %d", one.Attempt)
			}
			rows = append(rows, fmt.Sprintf("| %d | %s | %s | %s | %s |\n",
				one.Attempt, code(x.State, widestCell), FormatSeconds(one.DurationS), one.Spent, verdict))
		}
	}
	if len(rows) == 0 {
		return
	}
	if earlier := len(rows) - maxAttempts; earlier > 0 {
		rows = slices.Insert(rows[earlier:], 0, fmt.Sprintf("| … | %s before these | | | |\n", state.Count(earlier, "attempt")))
	}
	w.writeIfRoom("Attempts, as judged by the commands:\n\n" +
		"| Attempt | State | Duration | Cost | Verdict |\n| ---: | --- | ---: | ---: | --- |\n" + strings.Join(rows, "") + "\n")
	a.last.writeFailedCommand(w, linesOfFailure)
}

const (
	widestCell = 60 // columns of a name in a table
	maxRows    = 25 // maximum number of executions in a table that is not folded
	maxSums    = 15 // rows in the table of totals
)

// table returns a table with a row for each state execution, and the cost of each model. The table of
// a long run leaves out executions in the middle. If there are more than maxRows executions, the table
// is folded, and another table with the totals by state comes before it.
func (s *Summary) table() string {
	m := s.model
	if m.ExecutionCount == 0 {
		return ""
	}
	rows := "| # | Agent | State | Session | Duration | Cost | Attempts | Transition |\n" +
		"| ---: | --- | --- | --- | ---: | ---: | --- | --- |\n"
	for i, x := range m.Executions {
		if dropped := m.ExecutionCount - len(m.Executions); dropped > 0 && i == maxFirst {
			rows += fmt.Sprintf("| | | … %s … | | | | | |\n", state.Count(dropped, "more state"))
		}
		rows += x.row()
	}
	byState, _, byModel := m.Totals()
	var costs []string
	rest := ""
	for _, sum := range byModel {
		if sum.Name == "" {
			rest = ", other " + sum.Spent.Spent.String()
		} else {
			costs = append(costs, codeSpan(sum.Name)+" "+sum.Spent.Spent.String())
		}
	}
	end := ""
	if len(costs) > 0 {
		end = "Cost by model: " + strings.Join(costs, ", ") + rest + "\n\n"
	}
	if m.ExecutionCount <= maxRows {
		return "### States\n\n" + rows + "\n" + end
	}
	sums := "| State | Runs | Failed | Duration | Cost |\n| --- | ---: | ---: | ---: | ---: |\n"
	for _, x := range byState[:min(len(byState), maxSums)] {
		failed := ""
		if x.Failed > 0 {
			failed = fmt.Sprint(x.Failed)
		}
		sums += fmt.Sprintf("| %s | %d | %s | %s | %s |\n", code(x.Name, widestCell), x.Executions, failed, formatMillis(x.DurationMS), x.Spent)
	}
	if more := len(byState) - maxSums; more > 0 {
		sums += fmt.Sprintf("| … %s … | | | | |\n", state.Count(more, "more state"))
	}
	return "### States\n\n" + sums + "\n" +
		fmt.Sprintf("<details><summary>All %s</summary>\n\n%s\n</details>\n\n", state.Count(m.ExecutionCount, "state execution"), rows) + end
}

// sessionWords maps session modes to the texts in the table.
var sessionWords = map[string]string{string(state.Fresh): "new", string(state.Resume): "resumed", string(state.Branch): "branched"}

// row returns the table row for an execution. Its last cell describes how the execution ended, with
// the first transition and the number of the others, or since when it has been running.
func (x *Exec) row() string {
	duration, cost, outcome := "", "", ""
	if !x.isOpen() && (x.Kind != "script" || x.Spent.USD > 0) || x.isOpen() && x.Spent.Spent != (state.Spent{}) {
		cost = x.Spent.String()
	}
	switch {
	case x.work.isPaused:
		duration, outcome = FormatDuration(x.work.worked), "paused"
	case x.isOpen():
		outcome = "running since " + utcTime(x.Started)
	default:
		duration = formatMillis(x.DurationMS)
		if x.isExhausted {
			outcome = "**not done** "
		} else if x.Status == Failed {
			outcome = "**failed** "
		}
		if x.transitionCount > 0 {
			outcome += code(transitionText(x.firstTransition), widestTransition)
		}
		if x.transitionCount > 1 {
			outcome += fmt.Sprintf(" and %d more", x.transitionCount-1)
		}
	}
	attempts := fmt.Sprint(x.Attempt())
	if n := len(x.Retries) - x.serviceRetries; n > 0 {
		attempts += ", " + state.Count(n, "retry")
	}
	if n := len(x.Reminders); n > 0 {
		attempts += ", " + state.Count(n, "reminder")
	}
	session := cmp.Or(sessionWords[x.Mode], code(x.Kind, widestCell))
	return fmt.Sprintf("| %d | %s | %s | %s | %s | %s | %s | %s |\n", x.N, code(x.Agent, widestCell), code(x.State, widestCell),
		session, duration, cost, attempts, strings.TrimSpace(outcome))
}

const (
	maxFailures    = 20  // failed agents in the list at the top
	maxExplained   = 3   // failed agents at the top whose failure is explained in detail
	linesOfFailure = 12  // visible lines that explain failures, shared by all failures
	linesOfResult  = 15  // visible lines of the result
	widestLine     = 200 // columns of a visible line
	widestInline   = 100 // columns of a text that is shown without a fenced code block
)

// writeFailures writes why the run has not completed: which agents failed, in which states, and the
// most important lines of their errors and outputs. For the first failures it also writes which command
// failed in the last attempt, and the first tool call that was denied.
func (s *Summary) writeFailures(w *writer) {
	if s.stepError != "" {
		excerpt{what: "The step ended with an error", text: s.stepError, lines: linesOfFailure}.write(w)
	}
	failed, explained, listed := s.failedAgents(), maxExplained, maxFailures
	if w.short > 0 {
		explained, listed = 1, 0
	}
	explained = min(explained, len(failed))
	for _, a := range failed[:explained] {
		lines := max(3, linesOfFailure/explained)
		what := fmt.Sprintf("Agent %s failed in state %s", code(a.ID, widestName), code(a.State, widestName))
		if a.last != nil && a.last.attempt > 1 && !a.last.isExhausted {
			what += fmt.Sprintf(", attempt %d", a.last.attempt)
		}
		excerpt{what: what, text: a.reason(), lines: lines}.write(w)
		for _, one := range a.last.Outputs() {
			excerpt{what: "The end of its " + one.Name, text: one.Text, lines: lines}.write(w)
		}
		a.last.writeFailedCommand(w, lines)
		if len(a.refusals) > 0 && w.short == 0 {
			text := quotesAsCode(refusalText(a.refusals[0]))
			if more := len(a.refusals) - 1 + a.unlisted; more > 0 {
				text += fmt.Sprintf("; and %s, listed below", state.Count(more, "other use"))
			}
			w.write("It was refused " + text + "\n\n")
		}
	}
	if rest := failed[explained:]; len(rest) > 0 {
		text, lines := ".", []string{""}
		for _, a := range rest {
			lines = append(lines, fmt.Sprintf("%s in state %s: %s", code(a.ID, widestName), code(a.State, widestName), codeSpan(cutMiddle(a.reason(), widestLine))))
		}
		if listed > 0 {
			text = ":\n" + strings.Join(FirstOf(lines, listed+1), "\n- ")
		}
		w.printf("%s failed%s\n\n", state.Count(len(rest), "more agent"), text)
	}
	if end := s.model.Ending; end != nil && end.Reason != "" && (len(failed) == 0 || end.Status != state.Failed) {
		width := w.limit(widestReason)
		w.printf("Why: %s\n\n", code(cutMiddle(end.Reason, width), width))
	}
}

// failedAgents returns the agents that have failed.
func (s *Summary) failedAgents() []*Agent {
	return slices.DeleteFunc(slices.Clone(s.agents()), func(a *Agent) bool { return a.Status != Failed })
}

// writeFailedCommand writes the end of the output of the first command that failed in the last
// attempt. It writes nothing if the attempt was successful or the output is empty.
func (x *Exec) writeFailedCommand(w *writer, lines int) {
	failed := x.FailedCommand()
	if failed == nil || x.lastVerdict().Converged || strings.TrimSpace(failed.Tail) == "" {
		return
	}
	shown, _ := excerpt{text: failed.Tail, lines: lines}.shorten(w)
	w.writeIfRoom(fmt.Sprintf("The end of the output of %s:\n\n%s\n", code(failed.Cmd, widestAgentLine), fence(shown)))
}

// excerpt describes an untrusted text. Only a few of its lines are visible. In a summary, though
// not in an overview, the complete text follows in a folded section.
type excerpt struct {
	what    string // Markdown before the lines, without a colon
	text    string
	lines   int  // number of visible lines
	fromTop bool // show the first lines instead of the last ones
	isProse bool // the text was written by an agent, so its long lines are wrapped
}

// write writes the visible lines. In a summary with enough room, it also writes the complete text,
// folded. A single short line is written without a fenced code block.
func (x excerpt) write(w *writer) {
	shown, isAll := x.shorten(w)
	if strings.Contains(shown, "\n") || columns(shown) > widestInline {
		w.printf("%s:\n\n%s\n", x.what, fence(shown))
	} else {
		w.printf("%s: %s\n\n", x.what, codeSpan(plain(shown)))
	}
	if isAll || w.short > 0 {
		return
	}
	w.text(x.text, maxText, func(all string) string {
		if x.isProse {
			all = wrap(all)
		}
		return "<details><summary>All of it</summary>\n\n" + fence(all) + "\n</details>\n\n"
	})
}

// shorten returns the most important lines, limited to about the size that w allows for a text. If it
// leaves out lines, a line with their number takes their place. isAll reports whether the complete text
// is returned.
func (x excerpt) shorten(w *writer) (shown string, isAll bool) {
	limit := w.limit(maxText)
	content := shortenMiddle(x.text, maxResult)
	if x.isProse {
		content = wrap(content)
	}
	all, isAll := strings.Split(content, "\n"), len(x.text) <= maxResult
	for i, line := range all {
		if columns(line) > widestLine {
			isAll = false
			all[i] = head(line, widestLine*2/3) + ellipsis + tail(line, widestLine/3-1)
		}
	}
	lines := all
	for n := min(x.lines, len(all)); ; n-- {
		if dropped := len(all) - n + 1; dropped > 1 {
			isAll = false
			mark := []string{fmt.Sprintf("… %s left out …", state.Count(dropped, "line"))}
			if x.fromTop {
				lines = slices.Concat(all[:n-1], mark)
			} else { // the first line usually contains the reason for the failure
				lines = slices.Concat(all[:1], mark, all[dropped+1:])
			}
		}
		shown = strings.Join(lines, "\n")
		if len(shown) <= max(limit, 2*widestLine) || n <= minLines {
			return text.Prefix(shown, max(limit, 3*widestLine)), isAll
		}
	}
}

// minLines is the smallest number of lines to which a text is shortened: the first line, a line with
// the number of lines left out, and the last line.
const minLines = 3

// urlForm matches a URL that may become a link. Markdown and HTML interpret it only as a URL if it
// is between "<" and ">". It can't contain a user name, because that could look like a host.
var urlForm = text.Regexp(`https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][A-Za-z0-9._~%/?#=&+,;:-]*)?`)

const (
	maxLinks    = 5
	longestLink = 300 // maximum length of a link in bytes
	afterURL    = "\"'`)]}>.,;:!?*_|…"
)

// FindURLs returns the ranges of the URLs in text, without punctuation at their ends. It ignores a
// URL that is directly followed by a character that urlForm does not allow: the link would go to
// only the first part of the address that the text shows.
func FindURLs(text string) [][]int {
	var found [][]int
	for _, at := range urlForm().FindAllStringIndex(text, -1) {
		from, to := at[0], at[1]
		if rest := text[to:]; rest != "" && !strings.ContainsAny(rest[:1], " \t\n"+afterURL) && !strings.HasPrefix(rest, ellipsis) {
			continue
		}
		to = from + len(strings.TrimRight(text[from:to], ".,;:?_"))
		if to-from <= longestLink && (from == 0 || strings.ContainsAny(text[from-1:from], " \t\n\"'`([{<*_|")) {
			found = append(found, []int{from, to})
		}
	}
	return found
}

// allowedURLs returns the URLs in text that may become links. On github.com and on the host of the
// repository, whose URL is site, only URLs in the repository are allowed, because GitHub would notify
// people of links to their issues. site is "" if it is unknown.
func allowedURLs(text, site string) (allowed []string) {
	repository, err := url.Parse(site)
	if err != nil {
		return nil
	}
	for _, at := range FindURLs(text) {
		address := text[at[0]:at[1]]
		to, err := url.Parse(address)
		if err != nil {
			continue
		}
		host := strings.ToLower(to.Host)
		isAllowed := host != strings.ToLower(repository.Host) && host != "github.com" && !strings.HasSuffix(host, ".github.com")
		if repository.Host != "" && strings.HasPrefix(address, site) {
			isAllowed = !strings.Contains(to.Path, "/.")
		}
		if isAllowed {
			allowed = append(allowed, address)
		}
	}
	return allowed
}
