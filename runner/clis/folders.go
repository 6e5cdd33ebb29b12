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

// furnisher is implemented by the backends of agent CLIs that have a configuration folder.
type furnisher interface {
	// Furnish creates the files that the CLI needs in its configuration folder. It copies the
	// settings, the instructions and the login that the CLI would use with the environment userEnv,
	// and replaces or removes older copies.
	Furnish(userEnv []string) error
}

// Check returns an error if the program of an agent CLI can't be used on this machine, because it
// is missing or too old. The version is only checked if isFree is set, which means that the run has
// no cage. Check returns nil for the CLI of agent commands, and for a CLI that would be installed.
func Check(ctx context.Context, a runner.AgentCLI, isFree bool) error {
	known, _ := a.(agentCLI)
	c, ok := known.cliBackend.(interface {
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

// PrepareFolders creates the configuration folders below c.Folder for some CLIs, whose backend names
// are in used. It returns the paths and hosts that these CLIs need in a cage, without paths that are
// not absolute.
func PrepareFolders(c Config, used []string) (runner.Needs, error) {
	var all runner.Needs
	var errs []error
	userConfig := c
	userConfig.Folder = ""
	for name, a := range New(c) {
		if !slices.Contains(used, name) {
			continue
		}
		if f, ok := a.(agentCLI).cliBackend.(furnisher); ok && c.Folder != "" {
			if err := f.Furnish(userConfig.Environ(name)); err != nil {
				errs = append(errs, fmt.Errorf("set up the folder of %s: %w", a.Abilities().Title, err))
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

// CleanFolders removes the files that PrepareFolders has copied below c.Folder, such as logins. It
// does not remove conversations. It must be called after all agents have ended.
func CleanFolders(c Config) error {
	var errs []error
	nobody := []string{"HOME=" + filepath.Join(c.Folder, "nobody"), "USERPROFILE=" + filepath.Join(c.Folder, "nobody")}
	for name, a := range New(c) {
		if f, ok := a.(agentCLI).cliBackend.(furnisher); ok {
			if _, err := os.Stat(filepath.Join(c.Folder, name)); err == nil {
				errs = append(errs, f.Furnish(nobody))
			}
		}
	}
	return errors.Join(errs...)
}
