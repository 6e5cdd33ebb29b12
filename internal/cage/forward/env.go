package forward

import "fmt"

// Env returns the variables, as NAME=VALUE, by which caged programs find the proxy at a
// port of 127.0.0.1. They replace those of the same names.
func Env(list List, port uint16) []string {
	proxy := fmt.Sprintf("http://127.0.0.1:%d", port)
	// Servers that a caged process starts are reached without it, and so is the proxy
	// that keeps the model's key.
	const direct = "localhost,127.0.0.1,::1,[::1],0.0.0.0"
	env := []string{
		"HTTP_PROXY=" + proxy, "http_proxy=" + proxy,
		"HTTPS_PROXY=" + proxy, "https_proxy=" + proxy,
		"ALL_PROXY=" + proxy, "all_proxy=" + proxy,
		"NO_PROXY=" + direct, "no_proxy=" + direct,
		"NODE_USE_ENV_PROXY=1", // Node's own fetch and http, which else don't look at the others
		// Yarn from version 2 on doesn't look at them either, and npm prefers what a
		// .npmrc says.
		"YARN_HTTP_PROXY=" + proxy, "YARN_HTTPS_PROXY=" + proxy,
		"npm_config_proxy=" + proxy, "npm_config_https_proxy=" + proxy, "npm_config_noproxy=" + direct,
	}
	if list.isNone() {
		env = append(env, quickly...)
	}
	return env
}

// quickly keeps programs from trying several times what can't work, and from looking
// for news that nobody asked for. Nothing turns them off altogether: what they ask for
// is refused at once, and told. npm, git and Go try only once what is answered with 403.
var quickly = []string{
	"PIP_RETRIES=0", "PIP_DISABLE_PIP_VERSION_CHECK=1", // pip takes 15 seconds else
	"UV_HTTP_RETRIES=0",
	"CARGO_NET_RETRY=0", // 12 seconds
	"YARN_HTTP_RETRY=0",
	"npm_config_audit=false", "npm_config_update_notifier=false",
}
