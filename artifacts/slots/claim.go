package slots

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/forge"
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

// Claimer claims a key for a run. Only one goroutine at a time may use it.
type Claimer struct {
	Finder    *Finder // the service that stores claims, and the API for checks of other jobs
	Query     Query   // where claims of the key are stored; Mode and Read are not used
	Mine      Claim
	Retention time.Duration
	// Alive reports whether a process of this machine is running. known is false for a process of
	// another machine.
	Alive func(Process) (alive, known bool)
	Sleep func(context.Context, time.Duration) error // like forge.Sleep

	stored artifacts.Artifact // the claim, as the service has it
}

// confirmDelay is how long after its upload a claim is read back, if another job that had not seen
// it may have replaced it.
const confirmDelay = time.Second

// Take stores the claim. A *Conflict means that another job has the key. Any other error comes from
// the service, and Take may be called again later.
func (c *Claimer) Take(ctx context.Context) error {
	c.Mine.Schema = claimSchema
	if err := c.lookElsewhere(ctx); err != nil {
		return err
	}
	began := time.Now()
	replaced, err := c.clear(ctx)
	if err != nil {
		return err
	}
	if err := c.store(ctx, replaced); err != nil {
		// On a service that replaces artifacts by name, another job's upload removes an upload that
		// is under way, which then can't be finished.
		if errors.Is(err, artifacts.ErrExists) || c.Query.SameIDs && forge.IsMissing(err) {
			_, whose := c.clear(ctx)
			err = cmp.Or(whose, err)
		}
		return fmt.Errorf("store the claim: %w", err)
	}
	if replaced || c.Query.SameIDs {
		// Another job that had not seen this claim may take as long as this one did.
		if err := c.Sleep(ctx, min(confirmDelay+2*time.Since(began), 5*confirmDelay)); err != nil {
			return err
		}
	}
	return c.look(ctx)
}

// name returns the name of the claim's artifact.
func (c *Claimer) name() string { return c.Query.place().ClaimName() }

// lookElsewhere checks the claims of the key in other workflow runs of this origin. Without access
// to the API, it finds none.
func (c *Claimer) lookElsewhere(ctx context.Context) error {
	s := newSearch(c.Finder, c.Query)
	for a, err := range s.elsewhere(ctx, c.name()) {
		if err == nil {
			err = c.lookAt(ctx, s, a)
		}
		if isA[*NoAccess](err) {
			return nil
		}
		if err != nil && !isA[*Gone](err) {
			return err
		}
	}
	return nil
}

// lookAt checks a claim of another workflow run, which counts as long as that workflow run is in
// progress.
func (c *Claimer) lookAt(ctx context.Context, s *search, a artifacts.RunArtifact) error {
	if a.Expired {
		return nil
	}
	from, ok, err := s.accept(ctx, a)
	if err != nil || !ok || from.run.Status == completed {
		return err
	}
	other, err := c.fetch(a.Artifact, func(f *os.File) (int64, error) { return s.Archive.Download(ctx, a, 2*maxClaim, f) })
	if err != nil || c.hasEnded(ctx, other) {
		return s.classify(ofListed, from.name(), err)
	}
	other.RunURL = from.run.URL
	return other.conflict(a.Name, 0)
}

// found is a claim that is stored under the name.
type found struct {
	artifacts.Artifact
	claim Claim
}

// there returns the claims that are stored under the name. Artifacts that are deleted in the
// meantime are skipped.
func (c *Claimer) there(ctx context.Context) (all []found, err error) {
	list, err := c.Finder.Service.List(ctx, c.name())
	if err != nil {
		return nil, fmt.Errorf("look for a claim: %w", err)
	}
	for _, a := range list {
		f, failed := found{a, c.Mine}, error(nil)
		if isMine := a.ID == c.stored.ID && a.Digest != "" && a.Digest == c.stored.Digest; !isMine {
			f.claim, failed = c.fetch(a, func(f *os.File) (int64, error) { return c.Finder.Service.Download(ctx, a, 2*maxClaim, f) })
		}
		switch {
		case failed == nil:
			all = append(all, f)
		case !forge.IsMissing(failed):
			err = cmp.Or(err, failed)
		}
	}
	return all, err
}

// remove deletes a claim. A claim that no longer exists is not an error.
func (c *Claimer) remove(ctx context.Context, f found) error {
	if err := c.Finder.Service.Delete(ctx, f.Artifact); err != nil && !forge.IsMissing(err) {
		return fmt.Errorf("remove a claim: %w", err)
	}
	return nil
}

// clear checks the claims under the name and deletes a claim if its holder has ended. It returns a
// *Conflict if another job has the key.
func (c *Claimer) clear(ctx context.Context) (replaced bool, err error) {
	all, err := c.there(ctx)
	if err != nil {
		return false, err
	}
	for _, f := range all {
		if f.claim.ID != c.Mine.ID && !c.hasEnded(ctx, f.claim) {
			return false, f.claim.conflict(f.Name, f.ID)
		}
		if err := c.remove(ctx, f); err != nil {
			return false, err
		}
	}
	return len(all) > 0, nil
}

// store uploads the claim. isFreed is true if an artifact of the same name was just deleted.
func (c *Claimer) store(ctx context.Context, isFreed bool) error {
	data, err := packed(claimFile, c.Mine)
	if err != nil {
		return err
	}
	n := artifacts.NewArtifact{Name: c.name(), Content: bytes.NewReader(data), Size: int64(len(data)), NameFreed: isFreed}
	if c.Retention > 0 {
		n.Expires = time.Now().Add(c.Retention)
	}
	c.stored, err = c.Finder.Service.Upload(ctx, n)
	return err
}

// errClaimGone is the error for a claim that was stored but no longer exists.
var errClaimGone = errors.New("the claim is gone: another job replaced a claim at the same time")

// Check reads the claim back. A *Conflict means that another job has the key by now, or that this
// process's job is over. A job can end before its process if the runner has died, because only the
// runner ends processes in a container; then another job may take the key at any time.
func (c *Claimer) Check(ctx context.Context) error {
	if err := c.look(ctx); err != nil {
		return err
	}
	if jobs, err := c.jobsOf(ctx, c.Mine); err != nil || !isOver(jobs, c.Mine) {
		return nil
	}
	return &Conflict{Name: c.name(), ID: c.stored.ID,
		What: fmt.Sprintf("job %q is over, so this process, which the runner left behind, stores nothing more", c.Mine.Job)}
}

func (c *Claimer) look(ctx context.Context) error {
	all, err := c.there(ctx)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return errClaimGone
	case all[0].claim.ID != c.Mine.ID:
		return all[0].claim.conflict(all[0].Name, all[0].ID)
	}
	return nil
}

// Release deletes this run's claim and no other claim.
func (c *Claimer) Release(ctx context.Context) error {
	all, err := c.there(ctx)
	for _, f := range all {
		if f.claim.ID == c.Mine.ID {
			err = errors.Join(err, c.remove(ctx, f))
		}
	}
	return err
}

// fetch downloads and reads a claim. An artifact that is not a claim of this action is a *Conflict.
func (c *Claimer) fetch(a artifacts.Artifact, download func(*os.File) (int64, error)) (Claim, error) {
	f, err := os.CreateTemp(c.Query.Temp, "claim-*.zip")
	if err != nil {
		return Claim{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var claim Claim
	size, err := download(f)
	if err == nil {
		claim, err = unpackClaim(f, size)
	}
	switch {
	case err == nil:
		return claim, nil
	case errors.Is(err, errNoClaim), errors.Is(err, artifacts.ErrTooLarge):
		return Claim{}, &Conflict{Name: a.Name, ID: a.ID, What: "it is not a claim of this action; " + ownKeys}
	}
	return Claim{}, fmt.Errorf("fetch a claim: %w", err)
}

// hasEnded reports whether a claim no longer counts because its holder has ended.
func (c *Claimer) hasEnded(ctx context.Context, other Claim) bool {
	if alive, known := c.Alive(other.Process); known {
		return !alive
	}
	if other.RunID == c.Mine.RunID && (other.Attempt < c.Mine.Attempt || other.Holder == c.Mine.Holder) {
		return true // of an earlier attempt, or of an earlier step of this job
	}
	if jobs, err := c.jobsOf(ctx, other); err == nil {
		if status := statusOf(jobs, Job{Attempt: other.Attempt, ID: other.Job, Runner: other.Runner}); status != "" {
			return status == completed
		}
	}
	if other.Deadline.IsZero() {
		return time.Now().After(other.Created.Add(withoutEnd))
	}
	return time.Now().After(other.Deadline.Add(afterDeadline))
}

// askFor is the time limit for a request about a job.
const askFor = 10 * time.Second

// jobsOf returns the jobs of a claim's workflow run. Without access to the API, it returns an
// error.
func (c *Claimer) jobsOf(ctx context.Context, of Claim) ([]artifacts.JobInfo, error) {
	if c.Finder.Archive == nil {
		return nil, &NoAccess{}
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return c.Finder.Archive.Jobs(ctx, of.RunID)
}
