//go:build linux && world

package repotest

import (
	"encoding/json"
	"maps"
	"testing"

	"gotest.tools/v3/assert"
)

// payload is an event of the stage's repository, which is private.
func payload(t testing.TB, fields map[string]any) string {
	t.Helper()
	event := map[string]any{
		"sender": map[string]any{"login": "ann", "type": "User"},
		"repository": map[string]any{
			"id": RepositoryID, "full_name": Repository, "private": true, "default_branch": "main",
			"owner": map[string]any{"login": "acme", "type": "Organization"},
		},
	}
	maps.Copy(event, fields)
	data, err := json.Marshal(event)
	assert.NilError(t, err)
	return string(data)
}

// labeled is the event of an issue that got a label.
func labeled(t testing.TB, label, title, body string) string {
	t.Helper()
	return payload(t, map[string]any{
		"action": "labeled", "label": map[string]any{"name": label},
		"issue": map[string]any{
			"number": 7, "title": title, "body": body, "state": "open", "user": map[string]any{"login": "eve", "type": "User"},
			"labels": []any{map[string]any{"name": label}}, "comments": 0, "author_association": "NONE",
		},
	})
}
