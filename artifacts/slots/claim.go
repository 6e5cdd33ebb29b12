package slots

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// Claim identifies the job that drives the run of a key. It is stored as an artifact for as long as
// the job does so, to keep other jobs from spending money on the same states. It is not a
// checkpoint, and is never restored.
type Claim struct {
	Schema  int    `json:"schema"` // 1
	ID      string `json:"id"`     // unique
	Key     string `json:"key"`
	Part    string `json:"part,omitempty"` // name of a part of a matrix; "" for the run itself
	Holder  string `json:"holder"`         // identifies the job among all jobs
	RunID   int64  `json:"run_id"`
	Attempt int    `json:"run_attempt"`
	Job     string `json:"job"`
	Step    string `json:"step"`
	Runner  string `json:"runner,omitempty"` // name of the machine that runs the job
	RunURL  string `json:"run_url,omitempty"`

	Created  time.Time `json:"created"`
	Deadline time.Time `json:"deadline,omitzero"` // zero: the run has no deadline

	Process Process `json:"process"`
}

// Process identifies the process that made a claim, for other processes on the same machine.
type Process struct {
	Machine string `json:"machine"` // machine and process namespace; "" if unknown
	PID     int    `json:"pid"`
	Started string `json:"started"` // distinguishes it from a later process with the same id
}

// How long a claim counts if the status of its holder can't be found out.
const (
	afterDeadline = 10 * time.Minute
	withoutEnd    = 5 * 24 * time.Hour
)

const (
	claimSchema = 1
	claimFile   = "claim.json"
	maxClaim    = 64 << 10 // bytes
)

// packed returns an archive of one file with a value as JSON.
func packed(name string, what any) ([]byte, error) {
	data, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	p := archive.NewPacker(&b)
	err = errors.Join(p.Add(name, bytes.NewReader(data)), p.Close())
	return b.Bytes(), err
}

var errNoClaim = errors.New("it is not a claim of this action")

// unpackClaim reads the archive of a claim. It returns errNoClaim for any other content.
func unpackClaim(f *os.File, size int64) (Claim, error) {
	var c Claim
	z, err := archive.Open(f, size, archive.Limits{Entries: 1, Entry: maxClaim, Total: maxClaim})
	if err != nil || len(z.File) != 1 || z.File[0].Name != claimFile {
		return c, errNoClaim
	}
	data, err := archive.Read(z.File[0], maxClaim)
	if err != nil || json.Unmarshal(data, &c) != nil || c.Schema != claimSchema || c.ID == "" || c.Holder == "" {
		return c, errNoClaim
	}
	return c, nil
}

// conflict returns the error that this claim holds the key, with advice.
func (c Claim) conflict(name string, id int64) *Conflict {
	what := fmt.Sprintf("the key %q is used by job %q, step %q, of %s", c.Key, c.Job, c.Step, runName(c.RunID, c.RunURL))
	if c.Attempt > 1 {
		what += fmt.Sprintf(", attempt %d", c.Attempt)
	}
	return &Conflict{Name: name, ID: id, What: what + "; wait for it to end or cancel it, or " + ownKeys +
		"; with the permission actions: read, a job that has ended no longer blocks the key"}
}
