package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"slices"
)

// Download writes the content of an artifact that List returned into f, from its
// beginning, and returns its size. It fails with ErrTooLarge beyond limit bytes,
// and with ErrDigest when the service names a digest and the content has another.
func (r *Runtime) Download(ctx context.Context, a Artifact, limit int64, f *os.File) (int64, error) {
	body := ids(a.run, a.job)
	body["name"] = a.Name
	signed := func(ctx context.Context) (string, answer) {
		var out struct {
			URL string `json:"signed_url"`
		}
		got := r.once(ctx, request{"fetch artifact", "GetSignedArtifactURL", body}, &out)
		return out.URL, got
	}
	return r.fetch(ctx, wanted{digest: a.Digest, limit: limit, to: f}, signed)
}

// wanted is a content to be fetched.
type wanted struct {
	digest string // "" for any
	limit  int64
	to     *os.File
	pace   *pace
}

// fetch downloads from an address that is asked for anew at each attempt.
func (c *client) fetch(ctx context.Context, w wanted, signed func(context.Context) (string, answer)) (int64, error) {
	var size int64
	err := c.retry(ctx, "fetch artifact", func(ctx context.Context, p *pace) answer {
		address, a := signed(ctx)
		if a.err != nil {
			return a
		}
		c.maskSignature(address)
		w.pace = p
		size, a = c.get(ctx, address, w)
		return a
	})
	return size, err
}

// get makes one attempt at a download.
func (c *client) get(ctx context.Context, address string, w wanted) (int64, answer) {
	if err := rewind(w.to); err != nil {
		return 0, answer{err: err, final: true}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, answer{err: err, final: true}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, answer{err: err}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return 0, answer{status: resp.StatusCode, err: ErrNotFound, final: true}
	case resp.StatusCode != http.StatusOK:
		return 0, answer{status: resp.StatusCode, wait: retryAfter(resp.Header), final: !retryable(resp.StatusCode),
			err: ErrRefused}
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w.to, sum), io.LimitReader(&paced{r: resp.Body, p: w.pace}, w.limit+1))
	switch {
	case err != nil:
		return 0, answer{status: resp.StatusCode, err: err}
	case n > w.limit:
		return 0, answer{status: resp.StatusCode, err: ErrTooLarge, final: true}
	case w.digest != "" && w.digest != "sha256:"+hex.EncodeToString(sum.Sum(nil)):
		return 0, answer{status: resp.StatusCode, err: ErrDigest}
	}
	return n, answer{status: resp.StatusCode}
}

func rewind(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// newestFirst sorts by id: the order of the services differs.
func newestFirst(list []Artifact) {
	slices.SortFunc(list, func(a, b Artifact) int {
		switch {
		case a.ID > b.ID:
			return -1
		case a.ID < b.ID:
			return 1
		}
		return 0
	})
}
