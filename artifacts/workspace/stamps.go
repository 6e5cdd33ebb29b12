package workspace

import (
	"encoding/hex"
	"hash"
	"maps"
	"os"
	"time"
)

// stamps are the files that a repository of ours has, so that those that are as they were
// need not be read again.
type stamps struct {
	since time.Time // what has changed after it may change again without a trace
	known map[string]stamped
}

// newStamps begins with the files that a repository had before.
func newStamps(had map[string]stamped, since time.Time) *stamps {
	s := &stamps{since, map[string]stamped{}}
	maps.Copy(s.known, had)
	return s
}

// stamped is a file with its object id, at a time.
type stamped struct {
	id              string
	mode            os.FileMode
	size            int64
	modified, since int64 // since: of the last change of any kind
}

func stampOf(info os.FileInfo) stamped {
	return stamped{mode: info.Mode(), size: info.Size(), modified: info.ModTime().UnixNano(), since: changeTime(info)}
}

// isAfter reports whether a file has changed after a time.
func (s stamped) isAfter(t time.Time) bool { return max(s.modified, s.since) > t.UnixNano() }

// id returns the object id of a file that is as it was, else "".
func (s *stamps) id(path string, info os.FileInfo) string {
	was, is := s.known[path], stampOf(info)
	is.id = was.id
	if was != is {
		return ""
	}
	return was.id
}

// read notes a file that has been read, unless it could change without a trace.
func (s *stamps) read(path string, info os.FileInfo, h hash.Hash) {
	is := stampOf(info)
	if is.isAfter(s.since) {
		return
	}
	is.id = hex.EncodeToString(h.Sum(nil))
	s.known[path] = is
}
