package program

import (
	"fmt"
	"testing"
)

// TestHostsOfAnAPI: the vendor's, or those of the address that the environment names.
func TestHostsOfAnAPI(t *testing.T) {
	for base, want := range map[string]string{
		"": "[api.example]", "http://127.0.0.1:4711/x": "[127.0.0.1:4711]", "https://gate.example:8443/v1": "[gate.example:8443]",
		"https://gate.example": "[gate.example]", "nonsense": "[]", "http://127.0.0.1": "[]",
	} {
		if got := fmt.Sprint(API{Base: base, Host: "api.example"}.Hosts()); got != want {
			t.Errorf("%q: got %s, want %s", base, got, want)
		}
	}
}
