package state

import (
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
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
	line, err := marshal(envelope{
		Time: e.Time.UTC().Format(timeFormat), Seq: e.Seq, Type: e.Body.Type(), WorkflowID: workflowID,
		Agent: e.Agent, State: e.State, Exec: e.Exec,
	})
	if err != nil {
		return nil, err
	}
	body, err := marshal(e.Body)
	if err != nil || len(body) == len("{}") {
		return line, err
	}
	line[len(line)-1] = ','
	return append(line, body[1:]...), nil
}

// written are the options of marshal: encoding/json's form, without escaped tags, and without what jsonstrict refuses. So an
// empty list is [], never null, and two names that become one are an error.
var written = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false),
	json.FormatNilSliceAsNull(false), json.FormatNilMapAsNull(false), jsontext.AllowDuplicateNames(false))

// marshal is the one encoder for all files of a run: the state file, the journal and the event log.
func marshal(v any, more ...json.Options) ([]byte, error) {
	return json.Marshal(v, append(more, written)...)
}

// UnmarshalJSON implements json.Unmarshaler for one line of the log. Fields
// that this version does not know are ignored; an unknown type is an error.
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
