package officialtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Call is one use of the client, as a process that the caller runs.
type Call struct {
	Cmd *exec.Cmd // complete: arguments, environment and standard input

	answer string // the file that the script writes
}

// UploadCall is Upload as a Call, whose result is an Artifact.
func (c *Client) UploadCall(name, root string) *Call {
	return c.call(request{Action: "upload", Name: name, Root: root})
}

// DownloadCall is Download as a Call.
func (c *Client) DownloadCall(id int64, root string) *Call {
	return c.call(request{Action: "download", ID: id, Root: root})
}

func (c *Client) call(q request) *Call {
	c.t.Helper()
	input, err := json.Marshal(q)
	if err != nil {
		c.t.Fatal(err)
	}
	call := &Call{answer: filepath.Join(c.t.TempDir(), "answer")}
	call.Cmd = exec.CommandContext(c.t.Context(), c.node, c.drive, c.folder, call.answer)
	call.Cmd.Env, call.Cmd.Stdin = c.env, bytes.NewReader(input)
	return call
}

// Result reads what the process has left into to. Errors are the client's own. It may be
// called when the process has ended.
func (c *Call) Result(to any) error {
	data, err := os.ReadFile(c.answer)
	if err != nil {
		return err
	}
	told := struct {
		OK    any    `json:"ok"`
		Error string `json:"error"`
	}{OK: to}
	if err := json.Unmarshal(data, &told); err != nil {
		return err
	}
	if told.Error != "" {
		return errors.New(told.Error)
	}
	return nil
}
