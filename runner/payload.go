package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// payloads are the files from which scripts read their payloads. There are as many as
// scripts have run at once: to make one costs more than everything else that is done for
// a script before its start. Its methods are the owner's.
type payloads struct {
	dir  string
	used map[string]string // by agent
	free []string
	made int
}

// take returns the path of a file that no other agent uses until it is released.
func (p *payloads) take(agent string) string {
	if p.used == nil {
		p.used = map[string]string{}
	}
	if n := len(p.free); n > 0 {
		p.used[agent], p.free = p.free[n-1], p.free[:n-1]
	} else {
		p.made++
		p.used[agent] = filepath.Join(p.dir, strconv.Itoa(p.made))
	}
	return p.used[agent]
}

// release gives the file of an agent free whose invocation has ended.
func (p *payloads) release(agent string) {
	if path, ok := p.used[agent]; ok {
		delete(p.used, agent)
		p.free = append(p.free, path)
	}
}

// writePayload makes the payload file of a script. What the script before has left in its
// place goes away.
func writePayload(o ScriptOrder) error {
	f, before, err := files.OpenFile(o.PayloadFile, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		if err := os.RemoveAll(o.PayloadFile); err != nil {
			return err
		}
		f, before, err = files.OpenFile(o.PayloadFile, os.O_CREATE|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return err
	}
	size := int64(len(o.Payload))
	if _, err = f.WriteString(o.Payload); err == nil && before.Size() > size {
		err = f.Truncate(size)
	}
	return errors.Join(err, f.Close())
}
