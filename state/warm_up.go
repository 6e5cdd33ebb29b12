package state

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
