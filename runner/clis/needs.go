package clis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// furnished is an agent CLI that finds in its own folder what the user keeps in theirs.
type furnished interface {
	// Furnish makes what the CLI needs in its own folder, with copies of what is in that of another environment: of
	// settings, instructions and the login. What was there of it goes.
	Furnish(theirs []string) error
}

// Check reports what is wrong with the CLI of an agent on this machine: it is not there or, where isFree says that nothing is
// confined, too old. Nothing is known of a program of the user's own, and of a CLI that would be installed.
func Check(ctx context.Context, a runner.AgentCLI, isFree bool) error {
	own, _ := a.(agent)
	c, ok := own.cli.(interface {
		Source() program.Source
		Check(ctx context.Context, s program.Source, isFree bool) *runner.Failure
	})
	if !ok {
		return nil
	}
	if fail := c.Check(ctx, c.Source(), isFree); fail != nil {
		return fail
	}
	return nil
}

// PrepareFolders returns what the cage of a run has to know of agent CLIs, of which the given ones are used: their folders are made
// and furnished below c.Folder.
func PrepareFolders(c Config, used []string) (runner.Needs, error) {
	var all runner.Needs
	var errs []error
	theirs := c
	theirs.Folder = ""
	for name, a := range New(c) {
		if !slices.Contains(used, name) {
			continue
		}
		if f, ok := a.(agent).cli.(furnished); ok && c.Folder != "" {
			if err := f.Furnish(theirs.Environ(name)); err != nil {
				errs = append(errs, fmt.Errorf("the folder of %s: %w", a.Abilities().Title, err))
			}
			all.Read = append(all.Read, filepath.Join(c.Folder, name))
		}
		n := a.Needs()
		all.Read, all.Write, all.Hosts = append(all.Read, n.Read...), append(all.Write, n.Write...), append(all.Hosts, n.Hosts...)
	}
	for _, list := range []*[]string{&all.Read, &all.Write} {
		*list = slices.DeleteFunc(*list, func(path string) bool { return !filepath.IsAbs(path) })
		slices.Sort(*list)
	}
	slices.Sort(all.Hosts)
	all.Hosts = slices.Compact(all.Hosts)
	return all, errors.Join(errs...)
}

// CleanFolders takes out of the CLIs' folders below c.Folder what Needs has put there, the logins among it, once nothing
// runs there any more. Conversations stay.
func CleanFolders(c Config) error {
	var errs []error
	nobody := []string{"HOME=" + filepath.Join(c.Folder, "nobody"), "USERPROFILE=" + filepath.Join(c.Folder, "nobody")}
	for name, a := range New(c) {
		if f, ok := a.(agent).cli.(furnished); ok {
			if _, err := os.Stat(filepath.Join(c.Folder, name)); err == nil {
				errs = append(errs, f.Furnish(nobody))
			}
		}
	}
	return errors.Join(errs...)
}
