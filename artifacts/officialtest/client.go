package officialtest

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

//go:embed v6
var pins embed.FS

//go:embed drive.mjs
var script []byte

// pinned is the client as npm installs it.
func pinned() installtest.NPM {
	files, err := fs.Sub(pins, "v6")
	if err != nil {
		panic(err)
	}
	return installtest.NPM{Name: "artifact-v6", Files: files, Dir: "artifacts/officialtest/v6"}
}

// Client is the official client in a job.
type Client struct {
	t      testing.TB
	node   string
	folder string // where it is installed
	drive  string // the script
	env    []string
}

// New returns the client as a job sees it that has the given ACTIONS_RESULTS_URL
// and ACTIONS_RUNTIME_TOKEN. It ends the test when it can't be installed.
func New(t testing.TB, url, token string) *Client {
	t.Helper()
	c := &Client{t: t, node: installtest.Node(t), folder: pinned().Install(t), drive: filepath.Join(t.TempDir(), "drive.mjs")}
	if err := os.WriteFile(c.drive, script, 0o600); err != nil {
		t.Fatal(err)
	}
	c.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "RUNNER_TEMP=" + t.TempDir(), "GITHUB_WORKSPACE=" + t.TempDir(),
		"ACTIONS_RESULTS_URL=" + url, "ACTIONS_RUNTIME_TOKEN=" + token,
		// Without it the client takes the service for one of GitHub Enterprise Server
		// and does nothing.
		"GITHUB_SERVER_URL=https://github.com",
	}
	return c
}

// Artifact is an artifact as the client tells it.
type Artifact struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"` // "sha256:…", or "sha256:" and nothing where it isn't told
}

// Upload stores the files below root as an artifact.
func (c *Client) Upload(name, root string) (Artifact, error) {
	c.t.Helper()
	a := Artifact{Name: name}
	err := c.do(request{Action: "upload", Name: name, Root: root}, &a)
	return a, err
}

// Download unpacks an artifact into the folder root.
func (c *Client) Download(id int64, root string) error {
	c.t.Helper()
	var told struct {
		DigestMismatch bool `json:"digestMismatch"`
	}
	if err := c.do(request{Action: "download", ID: id, Root: root}, &told); err != nil {
		return err
	}
	if told.DigestMismatch {
		return errors.New("the content does not match its digest")
	}
	return nil
}

// List returns the artifacts of the run.
func (c *Client) List() ([]Artifact, error) {
	c.t.Helper()
	var list []Artifact
	err := c.do(request{Action: "list"}, &list)
	return list, err
}

// Delete removes an artifact of the run by its name.
func (c *Client) Delete(name string) error {
	c.t.Helper()
	return c.do(request{Action: "delete", Name: name}, &struct{}{})
}

// request is what the script is told.
type request struct {
	Action string `json:"action"`
	Name   string `json:"name,omitempty"`
	Root   string `json:"root,omitempty"`
	ID     int64  `json:"id,omitempty"`
}

// do runs the script, and reads what it answers into to. Errors are the client's own; what
// keeps it from running at all ends the test.
func (c *Client) do(q request, to any) error {
	c.t.Helper()
	input, err := json.Marshal(q)
	if err != nil {
		c.t.Fatal(err)
	}
	answer := filepath.Join(c.t.TempDir(), "answer")
	cmd := exec.CommandContext(c.t.Context(), c.node, c.drive, c.folder, answer)
	cmd.Env, cmd.Stdin = c.env, bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", q.Action, err, out)
	}
	data, err := os.ReadFile(answer)
	if err != nil {
		c.t.Fatal(err)
	}
	told := struct {
		OK    any    `json:"ok"`
		Error string `json:"error"`
	}{OK: to}
	if err := json.Unmarshal(data, &told); err != nil {
		c.t.Fatal(err)
	}
	if told.Error != "" {
		return fmt.Errorf("%s: %s\n%s", q.Action, told.Error, out)
	}
	return nil
}
