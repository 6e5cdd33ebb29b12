package program

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
