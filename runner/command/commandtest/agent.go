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

// agentVar says that a process of a test is the agent, and urlVar where its API is.
const (
	agentVar = "COMMANDTEST_AGENT"
	urlVar   = "COMMANDTEST_URL"
)

// The agent is the test's own binary, so that nothing has to be built or installed.
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

// said is a line of the file in which the agent keeps its conversation.
type said struct {
	Role string // session, user, model, tool
	Text string
}

// agent is one process of the agent.
type agent struct {
	file  *os.File
	lines []said
}

// play runs the agent for one prompt.
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
		var line said
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

// enter finds the session that it is told of, or begins one.
func (a *agent) enter() error {
	mode, session := os.Getenv("RAYMOND_SESSION_MODE"), os.Getenv("RAYMOND_SESSION")
	if mode == "fresh" {
		session = "s-" + strings.ToLower(rand.Text())
		a.keep("session", session)
	} else if !slices.Contains(a.lines, said{"session", session}) {
		a.tell(map[string]any{"type": "error", "class": "session_gone", "message": "there is no session " + session})
		return errors.New("no such session")
	}
	if mode == "branch" {
		session = "s-" + strings.ToLower(rand.Text())
		a.keep("session", session)
	}
	a.tell(map[string]any{"type": "session", "id": session})
	return nil
}

// talk asks the model until it uses no tool any more.
func (a *agent) talk(prompt string) error {
	a.keep("user", prompt)
	for {
		r, err := a.ask()
		if err != nil {
			return err
		}
		a.tell(map[string]any{"type": "cost", "model": os.Getenv("RAYMOND_MODEL"), "input": r.Input, "cached": r.Cached, "output": r.Output, "usd": usd(r)})
		if r.Text != "" {
			a.keep("model", r.Text)
			a.tell(map[string]any{"type": "text", "text": r.Text})
		}
		switch {
		case r.Shell != "":
			a.tell(map[string]any{"type": "tool", "name": shell, "input": map[string]string{"command": r.Shell}})
			a.keep("tool", run(r.Shell))
		case r.Write != "":
			a.tell(map[string]any{"type": "tool", "name": write, "input": r.Write})
			a.keep("tool", create(r.Write))
		default:
			return nil
		}
	}
}

// usd is what an answer costs: a dollar for a million tokens.
func usd(r answer) float64 { return float64(r.Input+r.Cached+r.Output) / 1e6 }

func (a *agent) keep(role, text string) {
	line := said{role, text}
	a.lines = append(a.lines, line)
	if err := json.NewEncoder(a.file).Encode(line); err != nil {
		panic(err)
	}
}

func (a *agent) tell(record map[string]any) {
	if err := json.NewEncoder(os.Stdout).Encode(record); err != nil {
		panic(err)
	}
}

// The tools of the agent.
const (
	shell = "Bash"
	write = "Write"
)

// isAllowed reports whether the agent may use a tool.
func isAllowed(tool string) bool {
	list := func(name string) []string { return strings.Split(os.Getenv(name), "\n") }
	return !slices.Contains(list("RAYMOND_DISALLOWED_TOOLS"), tool) &&
		(slices.Contains(list("RAYMOND_ALLOWED_TOOLS"), tool) || os.Getenv("RAYMOND_PERMISSION_MODE") == "bypassPermissions")
}

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

func create(path string) string {
	if !isAllowed(write) {
		return "refused"
	}
	if err := os.WriteFile(path, []byte("written\n"), 0o644); err != nil {
		return err.Error()
	}
	return "done"
}

// ask asks the model. An error of the API is told by its class.
func (a *agent) ask() (answer, error) {
	q := question{Model: os.Getenv("RAYMOND_MODEL")}
	for _, tool := range []string{shell, write} {
		if isAllowed(tool) {
			q.Tools = append(q.Tools, tool)
		}
	}
	q.take(a.lines)
	body, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	resp, err := http.Post(os.Getenv(urlVar), "application/json", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	var r answer
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return answer{}, err
	}
	if resp.StatusCode != http.StatusOK {
		a.tell(map[string]any{"type": "error", "class": class(resp.StatusCode, r), "message": r.Message, "until": resp.Header.Get("Until")})
		return answer{}, fmt.Errorf("the API answers with status %d", resp.StatusCode)
	}
	return r, nil
}

// class is the class of an error of the API.
func class(status int, r answer) string {
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
