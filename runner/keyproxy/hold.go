package keyproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

const (
	// inMemory is how much of a request is held in memory; the rest is in a file.
	inMemory = 1 << 20
	// maxBody is the longest request that is forwarded. The API itself takes half
	// of that.
	maxBody = 64 << 20
)

// held is the body of a request that was read whole before it is forwarded. The
// server closes the body of a request as soon as its answer begins; an upstream
// that answers at once would otherwise lose its connection, because the transport
// may still be about to look for the body's end.
type held struct {
	memory []byte
	file   *os.File // what does not fit into memory; nil when all does
	size   int64    // in all
}

// hold reads the body of r and makes r one that has it at hand. The caller must
// call release when r has been answered.
func hold(w http.ResponseWriter, r *http.Request) (*held, error) {
	h := &held{}
	if err := h.read(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		h.release()
		return nil, err
	}
	r.Body, _ = h.open()
	r.GetBody = h.open
	r.ContentLength, r.TransferEncoding = h.size, nil
	return h, nil
}

func (h *held) read(from io.Reader) error {
	var memory bytes.Buffer
	n, err := io.CopyN(&memory, from, inMemory)
	h.memory, h.size = memory.Bytes(), n
	if err != nil {
		return ignoreEOF(err)
	}
	if h.file, err = os.CreateTemp("", "raymond-request-*"); err != nil {
		return fmt.Errorf("hold a long request: %w", err)
	}
	_ = os.Remove(h.file.Name()) // where the system allows it, nothing is left behind by a kill
	n, err = io.Copy(h.file, from)
	h.size += n
	return err
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// open returns the body from its beginning.
func (h *held) open() (io.ReadCloser, error) {
	body := io.Reader(bytes.NewReader(h.memory))
	if h.file != nil {
		rest := h.size - int64(len(h.memory))
		body = io.MultiReader(body, io.NewSectionReader(h.file, 0, rest))
	}
	return io.NopCloser(body), nil
}

// release gives up what is held in a file.
func (h *held) release() {
	if h.file != nil {
		_ = h.file.Close()
		_ = os.Remove(h.file.Name())
	}
}

// unreadable answers a request whose body could not be read.
func (p *Proxy) unreadable(w http.ResponseWriter, r *http.Request, v *vendor, err error) {
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		v.refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is over %d MiB", maxBody>>20))
	case r.Context().Err() != nil || errors.Is(err, io.ErrUnexpectedEOF): // the client has left
	default:
		p.tell(fmt.Sprintf("read a request: %v", err))
		v.refuse(w, http.StatusBadGateway, "read the request: "+err.Error())
	}
}
