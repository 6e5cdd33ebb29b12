package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// envelope is the part that all events share in their JSON form.
type envelope struct {
	Time       string `json:"time"`                  // RFC 3339, UTC, with milliseconds
	Seq        int    `json:"seq"`                   // 1, 2, 3 … within the run, over all resumes
	Type       string `json:"type"`                  // the name of the event
	WorkflowID string `json:"workflow_id,omitempty"` // of the run; absent in a state file
	Agent      string `json:"agent,omitempty"`       // absent when the event is about the run
	State      string `json:"state,omitempty"`       // file name; with agent
	Exec       int    `json:"exec,omitempty"`        // number of the state execution, in the order in which they start; absent when the event belongs to none
}

// timeFormat is RFC 3339 in UTC with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

// Line returns the event as the log has it: one JSON object and a line break.
func (e Event) Line(workflowID string) ([]byte, error) {
	data, err := e.encode(workflowID)
	return append(data, '\n'), err
}

// MarshalJSON implements json.Marshaler. It leaves out the workflow id, which
// the file around the event names.
func (e Event) MarshalJSON() ([]byte, error) { return e.encode("") }

func (e Event) encode(workflowID string) ([]byte, error) {
	if e.Body == nil {
		return nil, fmt.Errorf("event %d has no body", e.Seq)
	}
	body, err := marshal(withLists(e.Body))
	if err != nil {
		return nil, err
	}
	line := e.appendEnvelope(make([]byte, 0, 256+len(body)), workflowID)
	if len(body) == len("{}") {
		return append(line, '}'), nil
	}
	return append(append(line, ','), body[1:]...), nil
}

// appendEnvelope appends the fields of the envelope, as encoding/json would write them, and
// leaves the object open. Each event is encoded twice, in the journal and in the log.
func (e Event) appendEnvelope(to []byte, workflowID string) []byte {
	to = append(to, `{"time":"`...)
	to = e.Time.UTC().AppendFormat(to, timeFormat)
	to = append(to, `","seq":`...)
	to = strconv.AppendInt(to, int64(e.Seq), 10)
	to = appendField(to, "type", e.Body.Type())
	for _, f := range [...]struct{ name, value string }{{"workflow_id", workflowID}, {"agent", e.Agent}, {"state", e.State}} {
		if f.value != "" {
			to = appendField(to, f.name, f.value)
		}
	}
	if e.Exec != 0 {
		to = append(to, `,"exec":`...)
		to = strconv.AppendInt(to, int64(e.Exec), 10)
	}
	return to
}

// appendField appends a comma and a field.
func appendField(to []byte, name, value string) []byte {
	to = append(append(append(to, `,"`...), name...), `":`...)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := marshal(value) // a string can always be encoded
			return append(to, quoted...)
		}
	}
	return append(append(append(to, '"'), value...), '"')
}

// withLists returns b with empty lists in the place of nil ones, so that
// programs that read the log never meet a null there.
func withLists(b Body) Body {
	switch b := b.(type) {
	case *StateFinished:
		c := *b
		c.Denied = append([]string{}, b.Denied...)
		return &c
	case *AgentStarted:
		if b.Vars == nil {
			return &AgentStarted{Parent: b.Parent, Vars: map[string]string{}}
		}
	case *NodeAttempt:
		c := *b
		c.Results = append([]CommandResult{}, b.Results...)
		return &c
	}
	return b
}

// withoutLists undoes withLists, so that an event equals the one it was made of.
func withoutLists(b Body) {
	switch b := b.(type) {
	case *StateFinished:
		if len(b.Denied) == 0 {
			b.Denied = nil
		}
		if len(b.Models) == 0 {
			b.Models = nil
		}
	case *AgentStarted:
		if len(b.Vars) == 0 {
			b.Vars = nil
		}
	case *NodeAttempt:
		if len(b.Results) == 0 {
			b.Results = nil
		}
	}
}

// marshal is json.Marshal without the escaping of HTML, which would blow up tags.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// UnmarshalJSON implements json.Unmarshaler for one line of the log. Fields
// that this version does not know are ignored; an unknown type is an error.
func (e *Event) UnmarshalJSON(data []byte) error {
	var head envelope
	if err := json.Unmarshal(data, &head); err != nil {
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
	if err := json.Unmarshal(data, body); err != nil {
		return fmt.Errorf("event %d: %w", head.Seq, err)
	}
	withoutLists(body)
	*e = Event{Seq: head.Seq, Time: at, Agent: head.Agent, State: head.State, Exec: head.Exec, Body: body}
	return nil
}
