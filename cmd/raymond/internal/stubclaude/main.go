// Command stubclaude is a fake agent CLI for the end-to-end tests of raymond. It starts in a few
// milliseconds, and does only what the prompt says. Like the real CLI, it stores conversations below
// CLAUDE_CONFIG_DIR or ~/.claude, and rejects a new conversation whose id is already used.
//
// Each line of a prompt is an instruction:
//
//	log: TEXT    write a line with TEXT to the file that $SIDE_EFFECTS names
//	wait: TIME   wait for a time such as 15ms
//	ask: N       make N requests to the API, one after the other
//	fail:        exit with code 1 and without a result
//	reply:       answer with the following lines, up to the line "end."
//
// A prompt without a "reply:" line is a reminder about an earlier prompt. The stub answers each reminder
// with the next reply in that prompt.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("2.1.330 (stub)")
		return
	}
	prompt, err := io.ReadAll(os.Stdin)
	check(err)
	c := open(arguments(os.Args[1:]))
	c.say(string(prompt))
	c.act(string(prompt))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "stub:", err)
		os.Exit(1)
	}
}

// arguments parses the flags of the command line, in the forms "--flag value" and "--flag=value".
func arguments(args []string) map[string]string {
	flags := map[string]string{}
	for i, a := range args {
		name, value, joined := strings.Cut(a, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		flags[name] = value
	}
	return flags
}

// conversation is a transcript with one line per turn.
type conversation struct {
	path, id string
	model    string
	turns    []turn
}

type turn struct {
	Type    string  `json:"type"`
	Message message `json:"message"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// open opens the conversation that the flag --resume names, or starts one with the id in --session-id.
// With both flags, the new conversation begins with a copy of the other one.
func open(flags map[string]string) *conversation {
	dir := filepath.Join(projects(), "stub")
	check(os.MkdirAll(dir, 0o700))
	file := func(id string) string { return find(dir, id+".jsonl") }
	from, resumes := flags["--resume"]
	id, named := flags["--session-id"]
	c := &conversation{id: id, path: file(id), model: flags["--model"]}
	if resumes {
		c.read(file(from), from)
	}
	if resumes && !named {
		c.id, c.path = from, file(from)
		return c
	}
	if _, err := os.Stat(c.path); err == nil {
		fmt.Fprintf(os.Stderr, "Error: Session ID %s is already in use.\n", id)
		os.Exit(1)
	}
	for _, t := range c.turns {
		c.append(t)
	}
	return c
}

// projects returns the folder below which the CLI stores conversations.
func projects() string {
	config := os.Getenv("CLAUDE_CONFIG_DIR")
	if config == "" {
		config = filepath.Join(os.Getenv("HOME"), ".claude")
	}
	return filepath.Join(config, "projects")
}

// find returns the path of a conversation: an existing file anywhere below projects, or else a new one in dir.
func find(dir, name string) string {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", name))
	check(err)
	if len(found) > 0 {
		return found[0]
	}
	return filepath.Join(dir, name)
}

func (c *conversation) read(path, id string) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		c.print(map[string]any{"type": "result", "subtype": "error_during_execution", "is_error": true,
			"errors": []string{"No conversation found with session ID: " + id}})
		os.Exit(1)
	}
	check(err)
	for line := range strings.Lines(string(data)) {
		var t turn
		check(json.Unmarshal([]byte(line), &t))
		c.turns = append(c.turns, t)
	}
}

func (c *conversation) append(t turn) {
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(err)
	defer f.Close()
	check(json.NewEncoder(f).Encode(t))
}

func (c *conversation) say(prompt string) {
	t := turn{"user", message{"user", prompt}}
	c.append(t)
	c.turns = append(c.turns, t)
	c.print(map[string]any{"type": "system", "subtype": "init", "session_id": c.id, "model": "stub"})
}

// act executes the instructions of the prompt.
func (c *conversation) act(prompt string) {
	for line := range strings.Lines(prompt) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		switch word {
		case "log":
			c.log(strings.TrimSpace(rest))
		case "wait":
			d, err := time.ParseDuration(strings.TrimSpace(rest))
			check(err)
			time.Sleep(d)
		case "ask":
			ask(strings.TrimSpace(rest))
		case "fail":
			os.Exit(1)
		case "reply":
			c.answer()
			return
		}
	}
	c.answer()
}

// ask makes requests to the API, as a tool of the agent could. It doesn't use net/http, because that would
// make the stub start more slowly. often is the number of requests.
func ask(often string) {
	n, err := strconv.Atoi(often)
	check(err)
	host, path, _ := strings.Cut(strings.TrimPrefix(os.Getenv("ANTHROPIC_BASE_URL"), "http://"), "/")
	for range n {
		to, err := net.Dial("tcp", host)
		check(err)
		_, err = fmt.Fprintf(to, "POST /%s/v1/messages HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
			path, host, os.Getenv("ANTHROPIC_API_KEY"))
		check(err)
		_, err = io.Copy(io.Discard, to)
		check(err)
		check(to.Close())
	}
}

// log appends a line to the file of side effects. The line contains the agent, the state, the model, the
// given text, and the first line of each earlier turn in the conversation.
func (c *conversation) log(text string) {
	var before []string
	for _, t := range c.turns[:len(c.turns)-1] {
		first, _, _ := strings.Cut(t.Message.Content, "\n")
		before = append(before, t.Message.Role+": "+first)
	}
	line, err := json.Marshal(map[string]any{
		"agent": os.Getenv("RAYMOND_AGENT_ID"), "state": os.Getenv("RAYMOND_STATE"),
		"text": text, "model": c.model, "before": before,
	})
	check(err)
	f, err := os.OpenFile(os.Getenv("SIDE_EFFECTS"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(err)
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	check(err)
}

// answer adds the reply to the conversation, and prints it and the result record.
func (c *conversation) answer() {
	text := c.reply()
	c.append(turn{"assistant", message{"assistant", text}})
	c.print(map[string]any{"type": "assistant", "message": map[string]any{
		"id": "m", "model": "stub", "content": []any{map[string]any{"type": "text", "text": text}},
	}})
	c.print(map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "result": text, "stop_reason": "end_turn",
		"num_turns": 1, "session_id": c.id, "total_cost_usd": 0.01,
	})
}

// reply returns the next reply in the last prompt that contains replies, or "" if no prompt does. After the
// last reply in that prompt, it repeats that reply.
func (c *conversation) reply() string {
	reminders := 0
	for i := len(c.turns) - 1; i >= 0; i-- {
		if c.turns[i].Type != "user" {
			continue
		}
		if replies := replies(c.turns[i].Message.Content); len(replies) > 0 {
			return replies[min(reminders, len(replies)-1)]
		}
		reminders++
	}
	return ""
}

func replies(prompt string) []string {
	var found []string
	for _, part := range strings.Split("\n"+prompt, "\nreply:\n")[1:] {
		text, _, _ := strings.Cut(part, "\nend.")
		found = append(found, text)
	}
	return found
}

func (c *conversation) print(record map[string]any) {
	check(json.NewEncoder(os.Stdout).Encode(record))
}
