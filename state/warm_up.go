package state

// WarmUpJSON makes the first save of a run faster: encoding/json inspects the types of a run, a step
// and the most common events, and caches the result. Call it while the program waits anyway.
func WarmUpJSON() {
	events := []Event{
		{Body: &RunStarted{}}, {Body: &AgentStarted{}}, {Body: &StateStarted{}}, {Body: &StateFinished{}},
		{Body: &AgentFinished{}}, {Body: &RunFinished{}},
	}
	_, _ = marshal(&Run{Events: events}) // a real save reports any error
	_, _ = marshal(&Delta{})
}
