package commandtest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// If agentVar is set, the test binary serves as the agent CLI. urlVar contains the URL of that CLI's API.
const (
	agentVar = "COMMANDTEST_AGENT"
	urlVar   = "COMMANDTEST_URL"
)

// init makes the test binary serve as the agent CLI if agentVar is set, so that tests need not build or
// install a CLI.
func init() {
	if os.Getenv(agentVar) == "" {
		return
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// message is one line of the agent's conversation file.
type message struct {
	Role string // session, user, model or tool
	Text string
}

// agent is a running process of the test's agent CLI.
type agent struct {
	file  *os.File
	lines []message
}

// play reads a prompt from stdin, answers it and prints records in the format of agent commands.
func play() error {
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	a := &agent{}
	if a.file, err = os.OpenFile(os.Getenv("RAYMOND_SESSION_FILE"), os.O_RDWR|os.O_APPEND, 0); err != nil {
		return err
	}
	defer a.file.Close()
	for dec := json.NewDecoder(a.file); ; {
		var line message
		if err := dec.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		a.lines = append(a.lines, line)
	}
	if err := a.enter(); err != nil {
		return err
	}
	return a.talk(string(prompt))
}

// enter continues the session that the environment names, or begins a new one. It prints the id of the
// session.
func (a *agent) enter() error {
	mode, session := os.Getenv("RAYMOND_SESSION_MODE"), os.Getenv("RAYMOND_SESSION")
	if mode == "fresh" {
		session = "s-" + strings.ToLower(rand.Text())
		a.save("session", session)
	} else if !slices.Contains(a.lines, message{"session", session}) {
		a.print(map[string]any{"type": "error", "class": "session_gone", "message": "there is no session " + session})
		return errors.New("no such session")
	}
	if mode == "branch" {
		session = "s-" + strings.ToLower(rand.Text())
		a.save("session", session)
	}
	a.print(map[string]any{"type": "session", "id": session})
	return nil
}

// talk sends requests to the model and runs the tools that the responses request. It ends when a response
// requests no tool.
func (a *agent) talk(prompt string) error {
	a.save("user", prompt)
	for {
		r, err := a.ask()
		if err != nil {
			return err
		}
		usd := float64(r.Input+r.Cached+r.Output) / 1e6 // a million tokens cost one dollar
		a.print(map[string]any{"type": "cost", "model": os.Getenv("RAYMOND_MODEL"), "input": r.Input, "cached": r.Cached, "output": r.Output, "usd": usd})
		if r.Text != "" {
			a.save("model", r.Text)
			a.print(map[string]any{"type": "text", "text": r.Text})
		}
		switch {
		case r.Shell != "":
			a.print(map[string]any{"type": "tool", "name": shell, "input": map[string]string{"command": r.Shell}})
			a.save("tool", run(r.Shell))
		case r.Write != "":
			a.print(map[string]any{"type": "tool", "name": write, "input": r.Write})
			a.save("tool", create(r.Write))
		default:
			return nil
		}
	}
}

// save appends a line to the conversation and to its file.
func (a *agent) save(role, text string) {
	line := message{role, text}
	a.lines = append(a.lines, line)
	if err := json.NewEncoder(a.file).Encode(line); err != nil {
		panic(err)
	}
}

// print prints a record.
func (a *agent) print(record map[string]any) {
	if err := json.NewEncoder(os.Stdout).Encode(record); err != nil {
		panic(err)
	}
}

// The names of the agent's tools.
const (
	shell = "Bash"
	write = "Write"
)

// isAllowed reports whether the settings in the environment allow a tool.
func isAllowed(tool string) bool {
	list := func(name string) []string { return strings.Split(os.Getenv(name), "\n") }
	return !slices.Contains(list("RAYMOND_DISALLOWED_TOOLS"), tool) &&
		(slices.Contains(list("RAYMOND_ALLOWED_TOOLS"), tool) || os.Getenv("RAYMOND_PERMISSION_MODE") == "bypassPermissions")
}

// run runs a shell command if that is allowed, and returns its output.
func run(command string) string {
	if !isAllowed(shell) {
		return "refused"
	}
	out, err := exec.Command("bash", "-c", command).CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

// create creates a file if that is allowed, and returns a text that describes the result.
func create(path string) string {
	if !isAllowed(write) {
		return "refused"
	}
	if err := os.WriteFile(path, []byte("written\n"), 0o644); err != nil {
		return err.Error()
	}
	return "done"
}

// ask sends the conversation to the model and returns the response. If the API returns an error, ask
// prints it as a record.
func (a *agent) ask() (modelResponse, error) {
	q := modelRequest{Model: os.Getenv("RAYMOND_MODEL")}
	for _, tool := range []string{shell, write} {
		if isAllowed(tool) {
			q.Tools = append(q.Tools, tool)
		}
	}
	for _, line := range a.lines {
		q.Output = ""
		switch line.Role {
		case "user":
			q.Prompts = append(q.Prompts, line.Text)
		case "model":
			q.Said = append(q.Said, line.Text)
		case "tool":
			q.Output = line.Text
		}
	}
	body, err := json.Marshal(q)
	if err != nil {
		return modelResponse{}, err
	}
	resp, err := http.Post(os.Getenv(urlVar), "application/json", bytes.NewReader(body))
	if err != nil {
		return modelResponse{}, err
	}
	defer resp.Body.Close()
	var r modelResponse
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return modelResponse{}, err
	}
	if resp.StatusCode != http.StatusOK {
		a.print(map[string]any{"type": "error", "class": class(resp.StatusCode, r), "message": r.Message, "until": resp.Header.Get("Until")})
		return modelResponse{}, fmt.Errorf("the API answers with status %d", resp.StatusCode)
	}
	return r, nil
}

// class returns the error class, in the format of agent commands, for an error of the API.
func class(status int, r modelResponse) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "authentication"
	case status == http.StatusTooManyRequests && r.UsageLimit:
		return "usage_limit"
	case status == http.StatusTooManyRequests:
		return "rate_limit"
	case status >= 500:
		return "overloaded"
	}
	return "invalid"
}
