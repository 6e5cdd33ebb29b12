package program

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
)

// Variable returns the value of a variable in an environment. It returns "" if the variable is not set.
// If a name occurs twice, the last entry is used.
func Variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// WithoutVars returns a copy of an environment without the named variables.
func WithoutVars(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// HomeVar returns the name of the variable that contains the home directory.
func HomeVar() string {
	return WindowsOr("USERPROFILE", "HOME")
}

// Home returns the home directory in an environment. If the variable isn't set, it returns the home
// directory of the user who runs this process. It returns "" if that is unknown.
func Home(environ []string) string {
	if home := Variable(environ, HomeVar()); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// ConfigDir returns the directory that a variable contains. If the variable isn't set, it returns the
// directory with the given name in the home directory, or "" if the home directory is unknown.
func ConfigDir(environ []string, variable, name string) string {
	dir := Variable(environ, variable)
	if home := Home(environ); dir == "" && home != "" {
		return filepath.Join(home, name)
	}
	return dir
}

// Access describes where an agent CLI finds its configuration and the model: its folder, the API of its
// vendor, and other services. Jobs derive inputs and environment variables from it.
type Access struct {
	Folder         string // the CLI's folder in the home directory
	FolderVariable string // environment variable that sets another folder
	URLVariable    string // environment variable that sets another URL of the API
	HeaderVariable string // environment variable with headers for that URL, one per line; "" if there is none
	Keys           []Key  // in the order of precedence
	// Logins are prefixes of environment variables with which a user can log in.
	Logins    []string
	Providers []Provider
}

// Key is an input of the Action for a credential of the API.
type Key struct {
	Input   string
	Text    string // description of the input
	IsToken bool   // a subscription token instead of an API key
}

// Provider is a service that offers models and is not the vendor's own API, such as Bedrock.
type Provider struct {
	Switch   string   // the environment variable that turns the provider on
	Names    string   // further variables that the CLI reads for it, separated by blanks
	Prefixes []string // prefixes of such variables
}

// Needs returns what the CLI needs in a cage: the files of its program, and the host of its API. If the
// key proxy has a key for the CLI, the API's host is the key proxy. Otherwise, it is the host in the URL base,
// which is the API's URL in the CLI's environment. If base is empty, it is the vendor's host, the parameter
// host. A loopback address without a port is not listed.
func (c *CLI) Needs(s Source, base, host string) runner.Needs {
	needs := runner.Needs{Read: ProgramFiles(cmp.Or(c.Path, s.Name))}
	switch {
	case c.Proxy != nil && c.Proxy.HasKey(s.Backend):
		needs.Hosts = []string{c.Proxy.Address()}
	case base == "":
		needs.Hosts = []string{host}
	default:
		u, err := url.Parse(base)
		if err != nil || u.Hostname() == "" {
			break // the CLI itself reports an invalid URL
		}
		ip, err := netip.ParseAddr(u.Hostname())
		if isLoopback := err == nil && ip.IsLoopback(); !isLoopback || u.Port() != "" {
			needs.Hosts = []string{u.Host}
		}
	}
	return needs
}

// BearerToken returns the bearer token of a request. It returns "" if the request contains none.
func BearerToken(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}
