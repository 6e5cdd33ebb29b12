package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

var (
	// loginText matches text that may contain a login: an entry in the settings of a package manager, a URL
	// with a password or with a user name for HTTP or FTP, or the beginning of a JSON file. A reference to a
	// variable doesn't count as a login.
	loginText = text.Regexp(`(?im)^[^#;\n]*(?:_auth(?:token)?|npmauth(?:token|ident)|password)"?(?:[ \t]*[:=]|[ \t])[ \t]*["']?[^\s"'$:=]` +
		`|(?:https?|ftps?)://[^/?#\s{]*@|://[^/?#\s{:@]*:[^/?#\s{]*@|\A\s*\{`)
	// settingsText matches any text of git settings that may contain a login or an include.
	settingsText = text.Regexp(`(?i)@|header|helper|path`)
)

// FindLogin searches directories for a file that contains a login. It returns the file and an error that
// describes the login. If the search fails, it returns "" and the error. Git parses the settings of all
// repositories, and of the files that they include, from standard input. isLoginFile reports whether
// another file with that name may contain a login.
func (g *Git) FindLogin(ctx context.Context, folders []string, isLoginFile func(name string) bool) (file string, err error) {
	found, err := possibleLoginFiles(ctx, folders, isLoginFile)
	if err != nil || len(found) == 0 {
		return "", err
	}
	t, err := g.open()
	if err != nil {
		return "", err
	}
	defer t.close()
	for i := 0; i < len(found); i++ { // the loop appends included files to found
		if isLoginFile(filepath.Base(found[i])) {
			return found[i], errors.New("it contains a login")
		}
		list, err := t.config(ctx, found[i])
		if err != nil {
			return "", err
		}
		for _, s := range list {
			section, _, _ := strings.Cut(s.key, ".")
			name := s.key[strings.LastIndexByte(s.key, '.')+1:]
			// A credential helper gives a login to any program. actions/checkout stores its token in a file
			// named git-credentials-….
			isNamed := name == "extraheader" || section == "credential" && name == "helper" || name == "path" && strings.Contains(s.value, "git-credentials-")
			if isNamed && s.value != "" || loginText().MatchString(strings.ReplaceAll(s.key+"\n"+s.value, "://git@", "://")) {
				return found[i], fmt.Errorf("the checkout keeps a login there, in the setting %s.*.%s", section, name)
			}
			path := resolveIn(filepath.Dir(found[i]), s.value)
			if strings.HasPrefix(section, "include") && name == "path" && !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	return "", nil
}

// possibleLoginFiles returns the files below directories whose text may contain a login.
func possibleLoginFiles(ctx context.Context, folders []string, isLoginFile func(name string) bool) (found []string, err error) {
	for _, folder := range folders {
		err = errors.Join(err, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			dir, name := filepath.Split(path)
			isSettings := name == "config" || name == "config.worktree"
			if err != nil || d.IsDir() || !isSettings && !isLoginFile(name) {
				return context.Cause(ctx)
			}
			data, _ := readSettings(path) // a file that this user can't read is skipped, because agents can't read it either
			isRepository := isGitDir(dir) || strings.Contains(filepath.ToSlash(dir), "/.git/")
			if isSettings && isRepository && settingsText().Match(data) || !isSettings && loginText().Match(data) {
				found = append(found, path)
			}
			return nil
		}))
	}
	return found, err
}
