package lint

import (
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// isShared reports whether the step shares its run with others by its inputs.
func (u use) isShared() bool { return u.Input("job") != "" || u.Input("part") != "" }

// checkKeys finds steps that don't find each other's run, because their keys differ.
func (c *handovers) checkKeys() {
	wrong := map[int]bool{}
	first := slices.IndexFunc(c.uses, func(u use) bool { return u.isShared() && u.Key() != "" })
	for i := range c.uses {
		u := &c.uses[i]
		switch {
		case u.isShared() && u.Key() == "":
			wrong[i] = true
			c.aboutStep(protocol.SeverityError, u, "job", protocol.Problem{Code: "key-missing",
				Message: fmt.Sprintf("this step of job %s has no key: it shares its run with other jobs, and the default key is this job's alone", u.Job),
				Hint:    "give the same key to all jobs of the run"})
		case first >= 0 && u.Key() != c.uses[first].Key():
			wrong[i] = true
			c.aboutStep(protocol.SeverityWarning, u, "key", protocol.Problem{Code: "different-keys",
				Message: fmt.Sprintf("job %s has %s, and job %s has %s: neither finds the other's run", u.Job, keyText(*u), c.uses[first].Job, keyText(c.uses[first])),
				Hint:    "give the same key to all jobs of the run"})
		}
	}
	c.checkCommentKeys(wrong)
}

func keyText(u use) string {
	if u.Key() == "" {
		return "the default key"
	}
	return "key: " + u.Input("key")
}

// checkCommentKeys finds jobs that handle comments, and whose runs are those of no job
// that begins them. Of those that told lists it is known already.
func (c *handovers) checkCommentKeys(told map[int]bool) {
	works := func(u use) bool { return !u.file.HandlesComments(u.Use) }
	begins := slices.IndexFunc(c.uses, works)
	if begins < 0 {
		return
	}
	for i := range c.uses {
		u := &c.uses[i]
		if works(*u) || told[i] || u.Job == c.uses[begins].Job {
			continue
		}
		isCommon := u.Key() != "" && slices.ContainsFunc(c.uses, func(w use) bool { return works(w) && w.Key() == u.Key() })
		if !isCommon {
			c.aboutStep(protocol.SeverityWarning, u, "key", protocol.Problem{Code: "comment-key",
				Message: fmt.Sprintf("job %s handles comments, and names no key in common with job %s: it does not find that one's run", u.Job, c.uses[begins].Job),
				Hint:    "give both jobs the same key"})
		}
	}
}
