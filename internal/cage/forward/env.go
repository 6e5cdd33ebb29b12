package forward

import "fmt"

// Env returns the environment variables, as NAME=VALUE, that make caged programs use the proxy at a port of
// 127.0.0.1. They replace inherited variables with the same names.
func Env(list List, port uint16) []string {
	proxy := fmt.Sprintf("http://127.0.0.1:%d", port)
	// Programs connect directly to loopback addresses, where servers in the cage and the key proxy listen.
	const direct = "localhost,127.0.0.1,::1,[::1],0.0.0.0"
	env := []string{
		"HTTP_PROXY=" + proxy, "http_proxy=" + proxy,
		"HTTPS_PROXY=" + proxy, "https_proxy=" + proxy,
		"ALL_PROXY=" + proxy, "all_proxy=" + proxy,
		"NO_PROXY=" + direct, "no_proxy=" + direct,
		"NODE_USE_ENV_PROXY=1", // makes Node's fetch and http use the variables above
		// Yarn 2 and later ignores the variables above. For npm, an .npmrc file takes precedence over them.
		"YARN_HTTP_PROXY=" + proxy, "YARN_HTTPS_PROXY=" + proxy,
		"npm_config_proxy=" + proxy, "npm_config_https_proxy=" + proxy, "npm_config_noproxy=" + direct,
	}
	if list.isNone() {
		env = append(env, noRetries...)
	}
	return env
}

// noRetries are variables for the network "none". They disable background checks for updates and retries
// that can't succeed. They don't make programs work offline: a request must still reach the proxy, which
// rejects it immediately and reports it. npm, git and Go don't retry after status 403, so they need no
// variable.
var noRetries = []string{
	"PIP_RETRIES=0", "PIP_DISABLE_PIP_VERSION_CHECK=1", // otherwise pip retries for 15 seconds
	"UV_HTTP_RETRIES=0",
	"CARGO_NET_RETRY=0", // otherwise cargo retries for 12 seconds
	"YARN_HTTP_RETRY=0",
	"npm_config_audit=false", "npm_config_update_notifier=false",
}
