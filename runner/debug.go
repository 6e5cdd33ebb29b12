package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// DebugStep names one attempt of a state execution.
type DebugStep struct {
	N            int // of the execution within the run
	Agent, State string
	Attempt      int
}

// DebugFolder is the folder below dir for a step. Names never lead out of dir.
func DebugFolder(dir string, s DebugStep) string {
	name := fmt.Sprintf("%04d_%s_%s_%d", s.N, s.Agent, s.State, s.Attempt)
	return filepath.Join(dir, strings.NewReplacer("/", "_", `\`, "_", "\x00", "_").Replace(name))
}

// AnswersFile is the file in the debug folder with the answers to questions, one a line.
const AnswersFile = "answers.jsonl"

// DebugAnswer is a line of AnswersFile.
type DebugAnswer struct {
	Number int    `json:"number"` // of the question
	Agent  string `json:"agent"`
	Text   string `json:"text"`
	By     string `json:"by"`
}

// debugAnswer writes the answer of an update, if it has one, into the debug folder. A line
// that can't be written is left out.
func (c *Config) debugAnswer(u Update) {
	if c.DebugDir == "" || u.Answer == nil {
		return
	}
	line, err := json.Marshal(DebugAnswer{Number: u.Number, Agent: u.Agent, Text: c.Redact(u.Answer.Text), By: u.Answer.By})
	if err != nil {
		return
	}
	f, _, err := files.OpenFile(filepath.Join(c.DebugDir, AnswersFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
}
