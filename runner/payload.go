package runner

import (
	"os"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// writePayload makes the payload file of a script. What is in its place goes away.
func writePayload(o ScriptOrder) error {
	if err := os.RemoveAll(o.PayloadFile); err != nil {
		return err
	}
	return files.WriteNew(o.PayloadFile, []byte(o.Payload), 0o600)
}
