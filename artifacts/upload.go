package artifacts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// blockSize is the number of bytes that are uploaded in one request, as by the official client.
const blockSize = 8 << 20

// blobVersion is the version of the Azure blob protocol.
const blobVersion = "2024-11-04"

// maxRefusals is how many times Upload retries after the service rejected the name of a deleted artifact.
const maxRefusals = 2

// NewArtifact is an artifact to upload.
type NewArtifact struct {
	Name    string
	Content io.ReaderAt // a zip archive
	Size    int64       // size of Content in bytes
	// Digest is "sha256:…" of Content, or empty if the caller doesn't know it. The service rejects content
	// with another digest.
	Digest string
	// Expires is the time after which the service may delete the artifact. The service limits it. If it is
	// zero, the service chooses the time.
	Expires time.Time
	// NameFreed means that an artifact with this name was deleted a moment ago. If the service still rejects
	// the name, Upload retries for some seconds.
	NameFreed bool
}

// Upload stores a new artifact of the current workflow run. The error is ErrExists if the workflow run
// already has an artifact with that name.
func (r *Runtime) Upload(ctx context.Context, n NewArtifact) (Artifact, error) {
	body := ids(r.run, r.job)
	body["name"], body["version"] = n.Name, 4
	if !n.Expires.IsZero() {
		body["expires_at"] = n.Expires.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	var created struct {
		OK  bool   `json:"ok"`
		URL string `json:"signed_upload_url"`
	}
	refusals := 0
	err := r.calls.Do(ctx, forge.Steady, "store artifact", func(ctx context.Context, _ *forge.Progress) *forge.Error {
		e := r.once(ctx, "CreateArtifact", body, &created)
		if e != nil && errors.Is(e.Err, ErrExists) && n.NameFreed && refusals < maxRefusals {
			refusals++
			e.Kind = forge.Limited
		}
		if e != nil && e.Kind == forge.Missing {
			e.Err = fmt.Errorf("%w; if this server has no artifact service, store: local with a state-dir keeps runs on the machine", e.Err)
		}
		return e
	})
	if err != nil {
		return Artifact{}, err
	}
	if !created.OK || created.URL == "" {
		return Artifact{}, &forge.Error{Op: "store artifact", Kind: forge.Refused, Status: http.StatusOK, Attempts: 1, Err: errors.New("the service returned no upload URL")}
	}
	maskSignature(created.URL, r.content.mask)
	content, sum := io.Reader(io.NewSectionReader(n.Content, 0, n.Size)), sha256.New()
	if n.Digest == "" {
		content = io.TeeReader(content, sum)
	}
	if err := r.put(ctx, created.URL, content, n.Size); err != nil {
		return Artifact{}, err
	}
	return r.finalize(ctx, n.Name, n.Size, cmp.Or(n.Digest, "sha256:"+hex.EncodeToString(sum.Sum(nil))))
}

// put uploads content in blocks, one after another, because act appends blocks in the order in which they
// arrive. It adds parameters to the signed URL.
func (r *Runtime) put(ctx context.Context, signed string, content io.Reader, size int64) error {
	var blocks []string
	buf := make([]byte, min(blockSize, max(1, size)))
	for {
		n, err := io.ReadFull(content, buf)
		if n == 0 && len(blocks) > 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("read artifact: %w", err)
		}
		id := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%048d", len(blocks))) // all block ids must have the same length
		blocks = append(blocks, id)
		if err := r.send(ctx, signed+"&comp=block&blockid="+url.QueryEscape(id), buf[:n], nil); err != nil {
			return err
		}
		if n < len(buf) {
			break
		}
	}
	list := []byte(xml.Header + "<BlockList><Latest>" + strings.Join(blocks, "</Latest><Latest>") + "</Latest></BlockList>")
	header := map[string]string{"Content-Type": "application/xml", "x-ms-blob-content-type": "application/zip"}
	return r.send(ctx, signed+"&comp=blocklist", list, header)
}

// send uploads a block or the list of blocks. It sends no token, because the URL is signed.
func (r *Runtime) send(ctx context.Context, address string, part []byte, header map[string]string) error {
	return r.calls.Do(ctx, forge.Steady, "store artifact", func(ctx context.Context, p *forge.Progress) *forge.Error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, address, p.Watch(bytes.NewReader(part)))
		if err != nil {
			return forge.Permanent(err)
		}
		req.ContentLength = int64(len(part))
		if len(part) == 0 {
			req.Body = http.NoBody
		}
		req.Header.Set("Content-Type", "application/octet-stream")
		req.Header.Set("x-ms-version", blobVersion)
		for k, v := range header {
			req.Header.Set(k, v)
		}
		resp, err := r.http.Do(req)
		if err != nil {
			return forge.NoAnswer(0, err)
		}
		defer resp.Body.Close()
		e := forge.ResponseError(resp)
		if e != nil {
			e.Err = errors.New("the storage refused a block")
		}
		return e
	})
}

// finalize turns the uploaded blocks into an artifact. If the answer to a request is lost, a second request
// would make some services create a duplicate, and others report that nothing was uploaded. So before each
// retry, finalize looks for the artifact.
func (r *Runtime) finalize(ctx context.Context, name string, size int64, digest string) (Artifact, error) {
	body := ids(r.run, r.job)
	body["name"], body["size"], body["hash"] = name, strconv.FormatInt(size, 10), digest
	a := Artifact{Name: name, Size: size, Digest: digest, run: r.run, job: r.job}
	isLost := false // the answer to an earlier request was lost
	err := r.calls.Do(ctx, forge.Steady, "store artifact", func(ctx context.Context, _ *forge.Progress) *forge.Error {
		var done struct {
			OK bool   `json:"ok"`
			ID number `json:"artifact_id"`
		}
		e := r.once(ctx, "FinalizeArtifact", body, &done)
		if e == nil && !done.OK {
			return forge.Permanent(errors.New("the service refused"))
		}
		if e == nil {
			a.ID = int64(done.ID)
			return nil
		}
		isGone := e.Status == http.StatusNotFound || e.Status == http.StatusConflict
		if !isGone && (e.Final || e.Kind == forge.Refused || e.Kind == forge.Denied) {
			return e
		}
		var out listResponse
		if r.once(ctx, listArtifacts, r.listBody(name), &out) == nil {
			for _, there := range out.withName(name) {
				// If an earlier request must have created the artifact, its name is enough, should the service
				// report no digest.
				if there.Digest == digest || there.Digest == "" && isGone && isLost {
					a = there
					a.Digest = digest
					return nil
				}
			}
		}
		isLost = isLost || !isGone
		return e
	})
	if err != nil {
		return Artifact{}, err
	}
	return a, nil
}
