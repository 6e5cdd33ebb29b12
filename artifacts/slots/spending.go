package slots

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/state"
)

// Spending is the amount that a step of a job has added to the cost of a run. It is stored as an
// artifact whose name contains all of the data, so that later jobs can add up spending from lists
// of artifacts alone. In a public repository, the names are public.
type Spending struct {
	Workflow string // path of the workflow file
	Key      string
	USD      state.USD // more than 0
	Job      Job
	Part     string // name of the part of a matrix; "" for the run itself
}

// spentHash is the number of digits of a hash in a name.
const spentHash = 12

// microDollar is the unit of amounts in names.
const microDollar = state.Dollar / 1_000_000

// maxAlike is the maximum number of spending artifacts of one job with the same amount.
const maxAlike = 99

// hashOf returns the hash of a workflow file or key for a name.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:spentHash]
}

// hashOfFile returns the hash of the path of a workflow file, regardless of how the path is
// written.
func hashOfFile(path string) string { return hashOf(inFolder(path)) }

// name returns the name of the n-th spending of a job with the same data, counted from 1. Amounts
// are rounded up to whole micro-dollars.
func (x Spending) name(n int) string {
	name := fmt.Sprintf("raymond-spent-%s-%s-%d-%d-%d-%s", hashOfFile(x.Workflow), hashOf(x.Key),
		(x.USD+microDollar-1)/microDollar, x.Job.RunID, max(1, x.Job.Attempt), fitting(x.Job.ID))
	if x.Part != "" {
		name += partMark + x.Part
	}
	if n > 1 {
		name += partMark + strconv.Itoa(n)
	}
	return name
}

// spent is the content of a name.
type spent struct {
	file, key string // hashes
	usd       state.USD
	run       int64 // the workflow run
}

// spentForm matches the names of spending artifacts.
var spentForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^raymond-spent-([0-9a-f]{12})-([0-9a-f]{12})-([1-9][0-9]*)-([1-9][0-9]*)-[1-9][0-9]*-.`)
})

// parseSpent reads the name of a spending artifact. It rejects amounts larger than any run can
// cost, which this program never writes.
func parseSpent(name string) (s spent, ok bool) {
	parts := spentForm().FindStringSubmatch(name)
	if parts == nil {
		return s, false
	}
	micro, err := strconv.ParseInt(parts[3], 10, 64)
	run, otherErr := strconv.ParseInt(parts[4], 10, 64)
	if err != nil || otherErr != nil || micro > int64(state.MaxUSD/microDollar) {
		return s, false
	}
	return spent{file: parts[1], key: parts[2], usd: state.USD(micro) * microDollar, run: run}, true
}

// Store stores the spending until the given time, under the first of its names that the workflow
// run does not have. It calls note with the name before each upload; an error of note ends Store.
func (x Spending) Store(ctx context.Context, to Service, expires time.Time, note func(name string) error) error {
	data, err := packed("spent.json", struct { // the same data as in the name
		Schema  int       `json:"schema"`
		CostUSD state.USD `json:"cost_usd"`
	}{1, x.USD})
	if err != nil {
		return err
	}
	for n := 1; n <= maxAlike; n++ {
		name := x.name(n)
		there, err := HasStored(ctx, to, name)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := note(name); err != nil {
			return err
		}
		_, err = to.Upload(ctx, artifacts.NewArtifact{Name: name, Content: bytes.NewReader(data), Size: int64(len(data)), Expires: expires})
		if !errors.Is(err, artifacts.ErrExists) {
			return err
		}
	}
	return fmt.Errorf("the workflow run already has %d artifacts named like %q", maxAlike, x.name(1))
}

// HasStored reports whether the present workflow run has an artifact with the given name.
func HasStored(ctx context.Context, s Service, name string) (bool, error) {
	list, err := s.List(ctx, name)
	return len(list) > 0, err
}

// spentPages is the maximum number of pages read from the list of all artifacts.
const spentPages = 20

// Spent is the cost of runs of this repository in a period.
type Spent struct {
	Key  state.USD // cost of runs of the key
	File state.USD // cost of runs of the workflow file
	// Minimum says, for users, why the real cost may be higher; "" if nothing was left out.
	Minimum string
}

// Spent adds up the spending that jobs have stored since the given time. Only artifacts of this
// repository's own workflow runs count. Spending of the key must also come from the own workflow
// file or one in resume-from. The query needs Key, Origin, Job and Act.
//
// Without access to the API, the result is the spending of the present workflow run, with a text in
// Spent.Minimum. A service that fails or does not answer is an *Unavailable.
func (f *Finder) Spent(ctx context.Context, q Query, since time.Time) (Spent, error) {
	s := &spending{search: newSearch(f, q), since: since}
	err := error(&NoAccess{})
	if f.Archive != nil {
		err = s.elsewhere(ctx)
	}
	if !isA[*NoAccess](err) {
		return s.sum, err
	}
	s.sum = Spent{}
	why := strings.TrimPrefix(err.Error(), "look for a checkpoint: ")
	if f.Service == nil {
		s.sum.Minimum = "the spending of earlier jobs is unknown: " + why
		return s.sum, nil
	}
	if !q.Act {
		s.sum.Minimum = "the spending of other workflow runs is unknown: " + why
	}
	list, err := s.stored(ctx)
	for _, a := range list {
		if x, ok := parseSpent(a.Name); ok && x.run == s.q.Job.RunID {
			s.add(x)
		}
	}
	return s.sum, err
}

// spending is one call of Finder.Spent.
type spending struct {
	*search

	since time.Time
	sum   Spent
}

// elsewhere adds up the spending that all workflow runs have stored.
func (s *spending) elsewhere(ctx context.Context) error {
	if err := s.learnWorkflow(ctx); err != nil {
		return err
	}
	for a, err := range s.from(ctx, &list{each: []pages{{next: s.Archive.ListAll(spentPages)}}}) {
		if errors.Is(err, ErrListTooLong) {
			s.sum.Minimum = fmt.Sprintf("this repository has stored more artifacts in the last 24 hours than a step reads (%d pages), so older runs were not counted", spentPages)
			return nil
		}
		if err != nil {
			return err
		}
		if !a.Created.IsZero() && a.Created.Before(s.since) {
			return nil // all following artifacts are older
		}
		x, ok := parseSpent(a.Name)
		ofFile, ofKey := s.counts(x)
		if !ok || x.run != a.RunID || !ofFile && !ofKey {
			continue
		}
		isOwn, err := s.isOwn(ctx, a)
		if err != nil {
			return err
		}
		if isOwn {
			s.add(x)
		}
	}
	return nil
}

// counts reports whether a spending belongs to the workflow file, and whether it belongs to the key
// and to an accepted workflow file.
func (s *spending) counts(x spent) (ofFile, ofKey bool) {
	isAccepted := slices.ContainsFunc(s.q.Origin.files(), func(file string) bool { return hashOfFile(file) == x.file })
	return x.file == hashOfFile(s.q.Origin.Workflow), isAccepted && x.key == hashOf(s.q.Key)
}

func (s *spending) add(x spent) {
	ofFile, ofKey := s.counts(x)
	if ofFile {
		s.sum.File = s.sum.File.Plus(x.usd)
	}
	if ofKey {
		s.sum.Key = s.sum.Key.Plus(x.usd)
	}
}

// isOwn reports whether an artifact was stored by a workflow run of this repository's own code.
// Gitea's list does not contain this, so the run is requested there.
func (s *spending) isOwn(ctx context.Context, a artifacts.RunArtifact) (bool, error) {
	o := s.q.Origin
	o.Sealed = true // spending counts on every branch
	if o.foreignArtifact(a) != "" {
		return false, nil
	}
	if a.HeadRepository != 0 {
		return true, nil
	}
	info, err := s.run(ctx, a.RunID)
	if err != nil {
		err = s.classify(ofListed, a.Name, err)
		if isA[*Gone](err) {
			return false, nil // a deleted run takes its artifacts along
		}
		return false, err
	}
	return o.isHome(info.HeadRepository, cmp.Or(o.RepositoryID, a.Repository)) && info.HeadBranch != "" && !mayBeForks(info), nil
}
