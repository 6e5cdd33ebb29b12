//go:build linux

package action_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// stub plays the agent CLIs in the process of the test. It obeys lines of the prompt, like the
// program stubclaude, and stores conversations in the same place as Claude Code:
//
//	log: TEXT    writes a line to the file that $SIDE_EFFECTS names
//	meter: MODEL uses a million tokens of a model, and never ends unless a file exists
//	reply:       the following lines, up to a line "end.", are the answer
//
// A prompt without a reply is a reminder: the answer is the next reply of the previous prompt.
type stub struct {
	j    *bareJob
	env  []string
	step *running
}

// says is the output of an agent for a certain first word of the prompt: the text line by line, and
// then the answer.
type says struct{ text, answer string }

// talk is the file of a conversation, with one line per turn.
type talk struct {
	path  string
	turns []turn
}

type turn struct {
	Type    string  `json:"type"`
	Message message `json:"message"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Run implements runner.Backend.
func (s *stub) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	ctx, end := s.step.acting(ctx)
	defer end()
	p := o.Prompt
	s.j.mu.Lock()
	s.j.prompts = append(s.j.prompts, p)
	s.j.mu.Unlock()
	answer := runner.Answer{SessionID: p.SessionID, Model: "stub", Turns: 1, Process: state.Process{CLI: "Claude Code 2.1.330 stub"}}
	fail := func(class runner.Class, what string) (runner.Answer, error) {
		answer.ExitCode = 1
		return answer, &runner.Failure{Class: class, Message: what}
	}
	c, err := s.open(p)
	if err == nil {
		err = c.add("user", p.Text)
	}
	if err != nil {
		return fail(runner.Fatal, err.Error())
	}
	for line := range strings.Lines(p.Text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		switch word {
		case "log":
			err = s.log(o, c, strings.TrimSpace(rest))
		case "meter":
			if _, gone := os.Stat(s.variable(o, "SIDE_EFFECTS") + ".go"); gone != nil {
				tell(runner.Progress{Metered: &runner.MeteredUsage{{Model: strings.TrimSpace(rest), Input: 1e6}}})
				<-ctx.Done()
			}
		}
		if ctx.Err() != nil {
			return fail(runner.Stopped, "stopped: "+context.Cause(ctx).Error())
		}
		if err != nil {
			return fail(runner.Fatal, err.Error())
		}
		if word == "reply" {
			break
		}
	}
	answer.Text, answer.Cost = c.reply(), state.Cost{
		Kind: state.Exact, USD: state.Dollar / 100, Usage: []state.ModelCost{{Usage: state.Usage{Model: "stub", Input: 100, CacheRead: 100, Output: 10}}},
	}
	word, _, _ := strings.Cut(p.Text, ".")
	said, ok := s.j.says[word]
	if !ok {
		said.answer = answer.Text
	}
	answer.Text = string([]rune(said.answer)) // replaces invalid UTF-8, as JSON does
	if o.Verbosity != runner.VerbosityNone {
		tellLines(tell, hidden(o, said.text+"\n"+said.answer))
	}
	if err := c.add("assistant", said.text+said.answer); err != nil {
		return fail(runner.Fatal, err.Error())
	}
	return answer, nil
}

// variable returns a variable of the stub's environment or of the order.
func (s *stub) variable(o runner.Order, name string) string {
	value := ""
	for _, kv := range slices.Concat(s.env, o.Env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// open opens or creates the conversation that an order names.
func (s *stub) open(p runner.PromptOrder) (*talk, error) {
	projects := filepath.Join(cmp.Or(s.variable(runner.Order{}, "CLAUDE_CONFIG_DIR"), filepath.Join(s.variable(runner.Order{}, "HOME"), ".claude")), "projects")
	if err := os.MkdirAll(filepath.Join(projects, "stub"), 0o700); err != nil {
		return nil, err
	}
	file := func(id string) string {
		if found, _ := filepath.Glob(filepath.Join(projects, "*", id+".jsonl")); len(found) > 0 {
			return found[0]
		}
		return filepath.Join(projects, "stub", id+".jsonl")
	}
	c := &talk{path: file(p.SessionID)}
	if p.Session == state.Resume {
		if p.Cut != nil {
			if err := os.Truncate(c.path, *p.Cut); err != nil {
				return nil, err
			}
		}
		return c, c.read(c.path)
	}
	if p.Session == state.Branch {
		if err := c.read(file(p.From)); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(c.path); err == nil {
		return nil, fmt.Errorf("session ID %s is already in use", p.SessionID)
	}
	before := c.turns
	c.turns = nil
	for _, t := range before {
		if err := c.add(t.Type, t.Message.Content); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *talk) read(path string) error {
	data, err := os.ReadFile(path)
	for line := range strings.Lines(string(data)) {
		var t turn
		if err := json.Unmarshal([]byte(line), &t); err != nil {
			return err
		}
		c.turns = append(c.turns, t)
	}
	return err
}

func (c *talk) add(role, text string) error {
	t := turn{role, message{role, text}}
	c.turns = append(c.turns, t)
	return appendLine(c.path, t)
}

// appendLine appends a value to a file as a line of JSON.
func appendLine(path string, v any) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(v)
}

// log writes a text, with the previous turns of the conversation, to the file of effects.
func (s *stub) log(o runner.Order, c *talk, text string) error {
	var before []string
	for _, t := range c.turns[:len(c.turns)-1] {
		first, _, _ := strings.Cut(t.Message.Content, "\n")
		before = append(before, t.Message.Role+": "+first)
	}
	return appendLine(s.variable(o, "SIDE_EFFECTS"), map[string]any{
		"agent": o.Agent, "state": o.State, "text": text, "model": o.Prompt.Model, "before": before,
	})
}

// reply returns the answer, a reply in the last prompt that contains replies.
func (c *talk) reply() string {
	reminders := 0
	for _, t := range slices.Backward(c.turns) {
		if t.Type != "user" {
			continue
		}
		if parts := strings.Split("\n"+t.Message.Content, "\nreply:\n")[1:]; len(parts) > 0 {
			text, _, _ := strings.Cut(parts[min(reminders, len(parts)-1)], "\nend.")
			return text
		}
		reminders++
	}
	return ""
}
