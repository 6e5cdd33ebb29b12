package workspace

import (
	"encoding/hex"
	"hash"
	"maps"
	"os"
	"time"
)

// stamps is a cache of the object ids of files that a repository already contains. With it, unchanged
// files need not be read again.
type stamps struct {
	since time.Time // files that changed later are not added, because they may change again without a visible difference
	known map[string]stamped
}

// newStamps returns a cache that contains the entries of an earlier cache.
func newStamps(had map[string]stamped, since time.Time) *stamps {
	s := &stamps{since, map[string]stamped{}}
	maps.Copy(s.known, had)
	return s
}

// stamped is the object id of a file, and the metadata that the file had when its id was computed.
type stamped struct {
	id              string
	mode            os.FileMode
	size            int64
	modified, since int64 // in nanoseconds; since is the result of changeTime
}

// stampOf returns the metadata of a file, without an object id.
func stampOf(info os.FileInfo) stamped {
	return stamped{mode: info.Mode(), size: info.Size(), modified: info.ModTime().UnixNano(), since: changeTime(info)}
}

// isAfter reports whether a file changed after a time.
func (s stamped) isAfter(t time.Time) bool { return max(s.modified, s.since) > t.UnixNano() }

// id returns the cached object id of a file. If the file's metadata has changed, it returns "".
func (s *stamps) id(path string, info os.FileInfo) string {
	was, is := s.known[path], stampOf(info)
	is.id = was.id
	if was != is {
		return ""
	}
	return was.id
}

// add adds the object id of a file that was read. It doesn't add a file that could change again without a
// visible difference.
func (s *stamps) add(path string, info os.FileInfo, h hash.Hash) {
	is := stampOf(info)
	if is.isAfter(s.since) {
		return
	}
	is.id = hex.EncodeToString(h.Sum(nil))
	s.known[path] = is
}
