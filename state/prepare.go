package state

// WarmUpJSON does beforehand what the first save of a run otherwise waits for: encoding/json
// looks through the types of a run, of a step, and of the events that every run has. It
// is only about time, and for when the caller waits for something else anyway.
func WarmUpJSON() {
	events := []Event{
		{Body: &RunStarted{}}, {Body: &AgentStarted{}}, {Body: &StateStarted{}}, {Body: &StateFinished{}},
		{Body: &AgentFinished{}}, {Body: &RunFinished{}},
	}
	_, _ = marshal(&Run{Events: events}) // whether it works, a save says
	_, _ = marshal(&Delta{})
}
