package examplestest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// labeled is the payload of an issue that got a label, as GitHub sends it.
func labeled(t testing.TB, label, title, body string) string {
	t.Helper()
	event := payload(t, "issues-labeled")
	issue := event["issue"].(map[string]any)
	issue["title"], issue["body"] = title, body
	event["label"].(map[string]any)["name"] = label
	return encoded(t, event)
}

// payload reads an event of testdata.
func payload(t testing.TB, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var event map[string]any
	if err := json.Unmarshal(data, &event); err != nil {
		t.Fatal(err)
	}
	return event
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
