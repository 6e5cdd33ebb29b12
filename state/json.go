package state

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// envelope contains the fields that all events have in JSON.
type envelope struct {
	Time       string `json:"time"`                  // RFC 3339, UTC, with milliseconds
	Seq        int    `json:"seq"`                   // number of the event in the run, from 1; resumes continue the count
	Type       string `json:"type"`                  // name of the event
	WorkflowID string `json:"workflow_id,omitempty"` // id of the run; absent in a state file
	Agent      string `json:"agent,omitempty"`       // name of the agent; absent if the event is about the whole run
	State      string `json:"state,omitempty"`       // file name of the agent's state; absent without agent
	Exec       int    `json:"exec,omitempty"`        // number of the state execution, in the order in which executions start; absent if the event belongs to no execution
}

// timeFormat is RFC 3339 in UTC with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

// Line returns the event as a line of the event log: a JSON object and a line break.
func (e Event) Line(workflowID string) ([]byte, error) {
	data, err := e.encode(workflowID)
	return append(data, '\n'), err
}

// MarshalJSON implements json.Marshaler. It leaves out the workflow id, because events without that id
// are stored in the state file, which contains the id.
func (e Event) MarshalJSON() ([]byte, error) { return e.encode("") }

// encode returns the event as JSON: the fields of its envelope, followed by the fields of its body.
func (e Event) encode(workflowID string) ([]byte, error) {
	line, err := Marshal(envelope{
		Time: e.Time.UTC().Format(timeFormat), Seq: e.Seq, Type: e.Body.Type(), WorkflowID: workflowID,
		Agent: e.Agent, State: e.State, Exec: e.Exec,
	})
	if err != nil {
		return nil, err
	}
	body, err := Marshal(e.Body)
	if err != nil || len(body) == len("{}") {
		return line, err
	}
	line[len(line)-1] = ','
	return append(line, body[1:]...), nil
}

// jsonOptions are the options for Marshal. They produce the format of encoding/json with three changes:
// HTML is not escaped, a nil list or map is written as [] or {} instead of null, and duplicate names are
// an error. The last two are necessary because jsonstrict rejects null and duplicate names.
var jsonOptions = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false),
	json.FormatNilSliceAsNull(false), json.FormatNilMapAsNull(false), jsontext.AllowDuplicateNames(false))

// Marshal encodes all JSON in the files of a run: the state file, the journal and the event log.
func Marshal(v any, more ...json.Options) ([]byte, error) {
	return json.Marshal(v, append(more, jsonOptions)...)
}

// UnmarshalJSON implements json.Unmarshaler for one line of the event log. It ignores unknown fields,
// and returns an error for an unknown type of event.
func (e *Event) UnmarshalJSON(data []byte) error {
	var head envelope
	if err := jsonv1.Unmarshal(data, &head); err != nil {
		return err
	}
	bodyType, ok := bodies[head.Type]
	if !ok {
		return fmt.Errorf("event %d: unknown type %q", head.Seq, head.Type)
	}
	at, err := time.Parse(timeFormat, head.Time)
	if err != nil {
		return fmt.Errorf("event %d: time: %w", head.Seq, err)
	}
	body := reflect.New(bodyType).Interface().(Body)
	if err := jsonv1.Unmarshal(data, body); err != nil {
		return fmt.Errorf("event %d: %w", head.Seq, err)
	}
	*e = Event{Seq: head.Seq, Time: at, Agent: head.Agent, State: head.State, Exec: head.Exec, Body: body}
	return nil
}

// FileError describes why a state file can't be used. The program does not change the file.
type FileError struct {
	Path  string // path of the file; "" if the data is not from a file
	Field string // path of the field, for example "agents[0].stack[2].state"; "" if the problem is not in a single field
	What  string // description of the problem
}

// Error implements error.
func (e *FileError) Error() string {
	const maxText = 300 // the texts may come from the file, so their length is limited
	parts := []string{e.Path, text.Truncate(e.Field, maxText), text.Truncate(e.What, maxText)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Encode returns the run as the content of a state file.
func (r *Run) Encode() ([]byte, error) {
	data, err := Marshal(r, jsontext.WithIndent(" "))
	return append(data, '\n'), err
}

// Decode parses and validates the content of a state file. It returns a *FileError if the content is
// invalid.
func Decode(data []byte) (*Run, error) {
	r := new(Run)
	if err := invalid(jsonstrict.DecodeVersion(data, r, Schema)); err != nil {
		return nil, err
	}
	return r, r.Validate()
}

// DecodeDelta parses a step, as Marshal encodes it. It returns a *FileError if data is not the JSON of a
// step; whether the step fits a run is for CheckFollows and Run.Validate to check.
func DecodeDelta(data []byte) (*Delta, error) {
	d := new(Delta)
	return d, invalid(jsonstrict.Decode(data, d))
}

// invalid converts an error from the package jsonstrict to a *FileError.
func invalid(err error) error {
	var bad *jsonstrict.Error
	if errors.As(err, &bad) {
		return &FileError{Field: bad.Field, What: bad.What}
	}
	return err
}

// WarmUpJSON makes the first save of a run faster. It lets encoding/json inspect the types of a run, a
// step and the most common events, and cache the result. Call it while the program has to wait anyway.
func WarmUpJSON() {
	events := []Event{
		{Body: &RunStarted{}}, {Body: &AgentStarted{}}, {Body: &StateStarted{}}, {Body: &StateFinished{}},
		{Body: &AgentFinished{}}, {Body: &RunFinished{}},
	}
	_, _ = Marshal(&Run{Events: events}) // errors are ignored here, because a real save reports them
	_, _ = Marshal(&Delta{})
}
