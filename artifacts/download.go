package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// downloader downloads artifacts from the storage. It sends no token, because signed URLs grant access.
type downloader struct {
	http  *http.Client
	calls forge.Retrier
	mask  func(secret string)
}

// newDownloader returns a downloader. mask is called with the signature of each URL. It may be nil.
func newDownloader(calls forge.Retrier, transport http.RoundTripper, mask func(string)) downloader {
	if mask == nil {
		mask = func(string) {}
	}
	return downloader{&http.Client{Transport: transport}, calls, mask}
}

// fetch downloads an artifact's content, overwrites the file to, and returns the content's size. If digest is
// empty, the content is not checked. For each attempt fetch requests a new signed URL by calling signed.
func (d downloader) fetch(ctx context.Context, digest string, limit int64, to *os.File, signed func(context.Context) (string, *forge.Error)) (int64, error) {
	var size int64
	err := d.calls.Do(ctx, forge.Steady, "fetch artifact", func(ctx context.Context, p *forge.Progress) *forge.Error {
		address, e := signed(ctx)
		if e != nil {
			return e
		}
		maskSignature(address, d.mask)
		_, err := to.Seek(0, io.SeekStart)
		if err = errors.Join(err, to.Truncate(0)); err != nil {
			return forge.Permanent(err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return forge.Permanent(err)
		}
		resp, err := d.http.Do(req)
		if err != nil {
			return forge.NoAnswer(0, err)
		}
		defer resp.Body.Close()
		if e := forge.ResponseError(resp); e != nil {
			if e.Kind != forge.Missing {
				e.Err = ErrRefused
			}
			return e
		}
		sum := sha256.New()
		n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(p.Watch(resp.Body), limit+1))
		switch {
		case err != nil:
			return forge.NoAnswer(resp.StatusCode, err)
		case n > limit:
			return &forge.Error{Kind: forge.Refused, Status: resp.StatusCode, Err: ErrTooLarge}
		case digest != "" && digest != "sha256:"+hex.EncodeToString(sum.Sum(nil)):
			return forge.NoAnswer(resp.StatusCode, ErrDigest)
		}
		size = n
		return nil
	})
	return size, err
}

// maskSignature calls mask with the signature in a signed URL, and with the signature's escaped form.
func maskSignature(signed string, mask func(string)) {
	_, query, _ := strings.Cut(signed, "?")
	values, _ := url.ParseQuery(query) // malformed parameters are ignored
	if sig := values.Get("sig"); sig != "" {
		mask(sig)
		mask(url.QueryEscape(sig))
	}
}
