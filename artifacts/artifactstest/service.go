package artifactstest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// request is a request to the results service.
type request struct {
	artifactKey
	Backend  string  `json:"workflow_run_backend_id"`
	Name     string  `json:"name"`
	Version  int     `json:"version"`
	Type     *string `json:"mime_type"`
	Size     string  `json:"size"`
	Hash     string  `json:"hash"`
	OnlyName *string `json:"name_filter"`
	OnlyID   *string `json:"id_filter"`
}

// refuse answers with an error whose message names the rule that the request breaks.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"code":"x","msg":%q}`, fmt.Sprintf(format, args...))
}

// field matches the name of a field in JSON.
var field = regexp.MustCompile(`"[a-z_]+":`)

// reply answers with JSON. With CamelCase, it changes the field names to camel case.
func (s *Server) reply(w http.ResponseWriter, v any) {
	data, _ := json.Marshal(v) // encoding maps of plain values can't fail
	if s.CamelCase {
		data = field.ReplaceAllFunc(data, func(name []byte) []byte {
			words := bytes.Split(name, []byte("_"))
			for _, word := range words[1:] {
				word[0] -= 'a' - 'A'
			}
			return bytes.Join(words, nil)
		})
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(data)
}

// twirp handles a request to the results service.
func (s *Server) twirp(w http.ResponseWriter, r *http.Request) {
	answer := map[string]func(http.ResponseWriter, request){
		"CreateArtifact": s.create, "FinalizeArtifact": s.finalize, "ListArtifacts": s.list, "GetSignedArtifactURL": s.signed, "DeleteArtifact": s.remove,
	}[r.PathValue("method")]
	// The token names the workflow run.
	parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
	data, _ := base64.RawURLEncoding.DecodeString(parts[min(1, len(parts)-1)])
	_, after, _ := strings.Cut(string(data), "Actions.Results:run-")
	id, _, _ := strings.Cut(after, ":")
	run, err := strconv.ParseInt(id, 10, 64)
	var q request
	switch {
	case err != nil:
		refuse(w, 401, "the token names no run")
	case r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&q) != nil:
		refuse(w, 400, "expected JSON")
	case q.Backend != fmt.Sprintf("run-%d", run):
		refuse(w, 403, "the token is for another run")
	case answer == nil:
		refuse(w, 404, "no method %s", r.PathValue("method"))
	default:
		q.artifactKey = artifactKey{run, q.Name}
		answer(w, q)
	}
}

// create handles CreateArtifact.
func (s *Server) create(w http.ResponseWriter, q request) {
	at := s.find(q.artifactKey)
	// Only version 7 of the protocol supports types, and there a new artifact must have one.
	isTyped := q.Version == 7 && q.Type != nil && strings.Contains(*q.Type, "/")
	switch {
	case q.Name == "" || strings.ContainsAny(q.Name, "\":<>|*?\r\n\\/"):
		refuse(w, 400, "artifact name %q is not valid", q.Name)
		return
	case !isTyped && (q.Version != 4 || q.Type != nil):
		refuse(w, 400, "version %v with type %v", q.Version, q.Type)
		return
	case at >= 0 && !s.Replaces, s.refusals[q.artifactKey] > 0:
		s.refusals[q.artifactKey]--
		refuse(w, 409, "an artifact with this name already exists on the workflow run")
		return
	case at >= 0:
		s.drop(at)
	}
	maps.DeleteFunc(s.blobs, func(_ string, b *blob) bool { return b.artifactKey == q.artifactKey }) // discards an unfinished upload with the same name
	s.blobCount++
	key := strconv.Itoa(s.blobCount)
	s.blobs[key] = &blob{artifactKey: q.artifactKey, blocks: map[string][]byte{}}
	s.reply(w, map[string]any{"ok": true, "signed_upload_url": s.URL + "/blob/" + key + "?sv=1&sig=a%2Bb%3D"})
}

// blob is an upload in progress.
type blob struct {
	artifactKey
	mime    string // media type with which the content is served
	blocks  map[string][]byte
	content []byte
	whole   bool
}

// putBlob handles the upload of a block or of the list of blocks. It checks the rules of the storage.
func (s *Server) putBlob(w http.ResponseWriter, r *http.Request) {
	b, q := s.blobs[r.PathValue("key")], r.URL.Query()
	data, err := io.ReadAll(r.Body)
	switch {
	case b == nil || err != nil || q.Get("sig") != "a+b=":
		refuse(w, 403, "the signature does not match")
	case r.Header.Get("Authorization") != "" || r.Header.Get("x-ms-version") == "":
		refuse(w, 400, "expected a version and no token")
	case q.Get("comp") == "block":
		id := q.Get("blockid")
		for other := range b.blocks {
			if len(other) != len(id) {
				refuse(w, 400, "block ids differ in length")
				return
			}
		}
		b.blocks[id] = data
		w.WriteHeader(201)
	case q.Get("comp") == "blocklist":
		// Without this header the storage serves the blob as arbitrary bytes.
		b.mime = cmp.Or(r.Header.Get("x-ms-blob-content-type"), "application/octet-stream")
		var list struct {
			Latest []string `xml:"Latest"`
		}
		if err := xml.Unmarshal(data, &list); err != nil {
			refuse(w, 400, "no block list: %v", err)
			return
		}
		for _, id := range list.Latest { // the content consists of the blocks in the order of the list
			block, ok := b.blocks[id]
			if !ok {
				refuse(w, 400, "no block %s", id)
				return
			}
			b.content = append(b.content, block...)
		}
		b.whole = true
		w.WriteHeader(201)
	default:
		refuse(w, 400, "expected a block or a block list")
	}
}

// finalize handles FinalizeArtifact.
func (s *Server) finalize(w http.ResponseWriter, q request) {
	for key, b := range s.blobs {
		if b.artifactKey != q.artifactKey || !b.whole {
			continue
		}
		if q.Size != strconv.Itoa(len(b.content)) || q.Hash != digestOf(b.content) {
			refuse(w, 400, "size or hash differ")
			return
		}
		if !s.Behavior.FinalizesTwice {
			delete(s.blobs, key)
		}
		id := s.store(Artifact{Run: q.run, Name: q.Name, Content: b.content, Type: b.mime})
		s.reply(w, map[string]any{"ok": true, "artifact_id": strconv.FormatInt(id, 10)})
		return
	}
	refuse(w, 404, "nothing of that name was uploaded")
}

// list handles ListArtifacts.
func (s *Server) list(w http.ResponseWriter, q request) {
	isEmpty, list := true, []any{}
	for _, a := range s.artifacts {
		if a.Run != q.run {
			continue
		}
		isEmpty = false
		id := strconv.FormatInt(a.ID, 10)
		if q.OnlyName != nil && *q.OnlyName != a.Name || q.OnlyID != nil && *q.OnlyID != id {
			continue
		}
		entry := map[string]any{
			"workflow_run_backend_id": q.Backend, "workflow_job_run_backend_id": fmt.Sprintf("job-%d", q.run),
			"database_id": id, "name": a.Name, "size": strconv.Itoa(len(a.Content)), "created_at": a.Created.Format(time.RFC3339),
		}
		if !s.NoDigest {
			entry["digest"] = a.Digest
		}
		list = append(list, entry)
	}
	switch {
	case isEmpty && s.Behavior.EmptyDrops:
		panic(http.ErrAbortHandler)
	case isEmpty && s.Behavior.EmptyIs404:
		refuse(w, 404, "no artifacts")
	default:
		s.reply(w, map[string]any{"artifacts": list})
	}
}

// signed handles GetSignedArtifactURL.
func (s *Server) signed(w http.ResponseWriter, q request) {
	if at := s.find(q.artifactKey); at < 0 {
		refuse(w, 404, "no artifact %q", q.Name)
	} else {
		s.reply(w, map[string]any{"signed_url": s.contentURL(s.artifacts[at].ID)})
	}
}

// remove handles DeleteArtifact.
func (s *Server) remove(w http.ResponseWriter, q request) {
	at := s.find(q.artifactKey)
	if at < 0 {
		refuse(w, 404, "no artifact %q", q.Name)
		return
	}
	id := s.artifacts[at].ID
	s.drop(at)
	s.refusals[q.artifactKey] = s.Behavior.RefusalsAfterDelete
	s.reply(w, map[string]any{"ok": true, "artifact_id": strconv.FormatInt(id, 10)})
}
