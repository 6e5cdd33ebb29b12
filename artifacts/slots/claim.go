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

// Claim says who drives the run of a key. It is stored as an artifact as long as
// somebody does: nobody else is to spend on the same states. It is no checkpoint,
// and nothing is restored from it.
type Claim struct {
	Schema  int    `json:"schema"` // 1
	ID      string `json:"id"`     // of this claim alone
	Key     string `json:"key"`
	Part    string `json:"part,omitempty"` // of a matrix; "" for the run itself
	Holder  string `json:"holder"`         // the job, by what no two jobs share
	RunID   int64  `json:"run_id"`
	Attempt int    `json:"run_attempt"`
	Job     string `json:"job"`
	Step    string `json:"step"`
	Runner  string `json:"runner,omitempty"` // name of the machine that has the job
	RunURL  string `json:"run_url,omitempty"`

	Created  time.Time `json:"created"`
	Deadline time.Time `json:"deadline,omitzero"` // zero: the run has none

	Process Process `json:"process"`
}

// Process is who made a claim, for somebody on the same machine.
type Process struct {
	Machine string `json:"machine"` // and its process ids; "" where that isn't known
	PID     int    `json:"pid"`
	Started string `json:"started"` // distinguishes it from a later one of the same id
}

// How long a claim counts whose holder can't be asked about.
const (
	afterDeadline = 10 * time.Minute
	withoutEnd    = 5 * 24 * time.Hour
)

const (
	claimSchema = 1
	claimFile   = "claim.json"
	maxClaim    = 64 << 10 // bytes
)

// packed makes an archive of one file, which has something as JSON.
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

var errNoClaim = errors.New("it is no claim of this action")

// unpackClaim reads the archive of a claim. Whatever else it may be is errNoClaim.
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

// conflict says whose the key is, and what to do.
func (c Claim) conflict(name string, id int64) *Conflict {
	what := fmt.Sprintf("the key %q is driven by job %q, step %q, of %s", c.Key, c.Job, c.Step, runName(c.RunID, c.RunURL))
	if c.Attempt > 1 {
		what += fmt.Sprintf(", attempt %d", c.Attempt)
	}
	return &Conflict{Name: name, ID: id, What: what + "; wait for it to end or cancel it, or " + ownKeys +
		"; whether it has ended is asked with the permission actions: read"}
}
