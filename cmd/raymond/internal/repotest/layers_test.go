package repotest

// layer is what the files of one package may import, tests aside.
type layer struct {
	ours    string // packages of this module
	foreign string // modules of others
}

// layers is the table of who knows whom. A package that is not in it may not
// exist; to change a line, argue for it in the commit.
var layers = map[string]layer{
	"protocol":                   {ours: "internal/untrusted/archive", foreign: "gopkg.in/yaml.v3"},
	"state":                      {ours: "protocol internal/untrusted/jsonstrict internal/untrusted/files", foreign: "github.com/gofrs/flock"},
	"runner":                     {ours: "internal/cage protocol state runner/internal/reel internal/untrusted/files"},
	"runner/internal/reel":       {},
	"runner/internal/proc":       {ours: "internal/cage internal/untrusted/secrets internal/untrusted/files", foreign: "golang.org/x/sys"},
	"runner/claude":              {ours: "internal/cage/denied state runner runner/internal/proc runner/claude/permit runner/claude/tally runner/claude/keyproxy runner/claude/transcript internal/untrusted/jsonlimit internal/untrusted/text", foreign: "github.com/go-json-experiment/json"},
	"runner/claude/transcript":   {ours: "state runner/internal/proc runner/claude/tally internal/untrusted/files internal/untrusted/jsonlimit", foreign: "github.com/go-json-experiment/json"},
	"runner/shell":               {ours: "state runner runner/internal/proc internal/untrusted/files internal/untrusted/text internal/untrusted/secrets"},
	"runner/verify":              {ours: "internal/cage/denied state runner runner/internal/proc internal/untrusted/files internal/untrusted/secrets", foreign: "github.com/bmatcuk/doublestar/v4"},
	"runner/report":              {ours: "protocol state runner runner/diagram runner/internal/reel internal/untrusted/files internal/untrusted/jsonlimit internal/untrusted/text", foreign: "golang.org/x/sys"},
	"runner/diagram":             {ours: "protocol state"},
	"runner/diagram/mermaidtest": {ours: "internal/installtest"},
	"runner/simulate":            {ours: "protocol state runner runner/claude", foreign: "gopkg.in/yaml.v3"},
	"runner/claude/permit":       {},
	"runner/prices":              {ours: "state", foreign: "gopkg.in/yaml.v3"},
	"runner/claude/pin":          {},
	"runner/claude/claudetest":   {ours: "runner/claude/pin internal/installtest"},
	"internal/installtest":       {foreign: "github.com/gofrs/flock"},
	"internal/invarianttest":     {ours: "state artifacts/checkpoint"},
	"internal/nodetest":          {ours: "internal/installtest"},
	"artifacts/officialtest":     {ours: "internal/installtest internal/nodetest"},
	"cmd/shim":                   {},
	"cmd/sbom":                   {},
	"examples":                   {},
	"cmd/raymond/internal/examplestest": {
		ours: "artifacts/artifactstest cmd/raymond/internal/acttest runner/claude/claudetest",
	},
	"cmd/raymond/internal/acttest": {
		ours: "cmd/shim internal/installtest internal/nodetest", foreign: "github.com/rogpeppe/go-internal",
	},
	"internal/cage":                    {ours: "internal/cage/entry internal/cage/warden", foreign: "github.com/landlock-lsm/go-landlock golang.org/x/net golang.org/x/sys"},
	"internal/cage/forward":            {foreign: "golang.org/x/net"},
	"internal/cage/warden":             {foreign: "golang.org/x/sys"},
	"internal/cage/entry":              {foreign: "github.com/landlock-lsm/go-landlock golang.org/x/sys"},
	"internal/cage/denied":             {},
	"internal/untrusted/files":         {},
	"internal/untrusted/text":          {},
	"internal/untrusted/jsonstrict":    {foreign: "github.com/go-json-experiment/json"},
	"internal/untrusted/jsonlimit":     {},
	"internal/untrusted/archive":       {},
	"internal/untrusted/secrets":       {},
	"runner/claude/keyproxy":           {ours: "internal/untrusted/files internal/untrusted/secrets runner/claude/tally state", foreign: "github.com/go-json-experiment/json"},
	"runner/claude/tally":              {ours: "state", foreign: "github.com/go-json-experiment/json"},
	"artifacts/workspace":              {ours: "internal/cage internal/untrusted/files internal/untrusted/jsonstrict", foreign: "github.com/go-json-experiment/json golang.org/x/sys"},
	"artifacts/checkpoint":             {ours: "state internal/untrusted/files internal/untrusted/jsonstrict internal/untrusted/archive", foreign: "filippo.io/age github.com/go-json-experiment/json"},
	"artifacts/slots":                  {ours: "state artifacts artifacts/checkpoint internal/forge internal/untrusted/text internal/untrusted/archive"},
	"internal/forge":                   {ours: "internal/untrusted/text", foreign: "github.com/google/go-github/v60"},
	"artifacts":                        {ours: "internal/forge", foreign: "github.com/go-json-experiment/json github.com/google/go-github/v60"},
	"artifacts/artifactstest":          {},
	"cmd/raymond/internal/stubclaude":  {},
	"cmd/raymond/internal/job/jobtest": {ours: "internal/untrusted/text"},
	"cmd/raymond/internal/job": {
		ours:    "protocol runner/report internal/forge internal/untrusted/files internal/untrusted/text internal/untrusted/secrets",
		foreign: "github.com/go-json-experiment/json github.com/google/go-github/v60 github.com/sethvargo/go-githubactions",
	},
	"cmd/raymond/internal/problem":       {ours: "artifacts artifacts/checkpoint artifacts/slots internal/untrusted/text protocol state"},
	"cmd/raymond/internal/options":       {ours: "cmd/raymond/internal/problem internal/cage/forward internal/untrusted/files runner state", foreign: "github.com/spf13/pflag"},
	"cmd/raymond/internal/scope":         {ours: "cmd/raymond/internal/problem internal/untrusted/files protocol"},
	"cmd/raymond/internal/gitguard":      {ours: "internal/untrusted/files runner state"},
	"cmd/raymond/internal/session":       {ours: "cmd/raymond/internal/options cmd/raymond/internal/problem cmd/raymond/internal/scope internal/untrusted/files internal/untrusted/text protocol runner runner/claude runner/claude/pin runner/claude/transcript runner/prices runner/report runner/shell runner/verify state internal/untrusted/secrets", foreign: "github.com/google/uuid"},
	"cmd/raymond/internal/confine":       {ours: "cmd/raymond/internal/options cmd/raymond/internal/problem internal/cage internal/cage/forward internal/untrusted/files internal/untrusted/text runner"},
	"cmd/raymond/internal/simulation":    {ours: "cmd/raymond/internal/options cmd/raymond/internal/problem cmd/raymond/internal/scope cmd/raymond/internal/session internal/untrusted/files internal/untrusted/text runner/report runner/shell runner/simulate runner/verify state internal/untrusted/secrets"},
	"cmd/raymond/internal/lint":          {ours: "cmd/raymond/internal/problem cmd/raymond/internal/scope internal/untrusted/text protocol"},
	"cmd/raymond/internal/runs":          {ours: "cmd/raymond/internal/problem internal/untrusted/files internal/untrusted/jsonlimit internal/untrusted/text runner/diagram state"},
	"cmd/raymond/internal/agentcli":      {ours: "internal/untrusted/text runner/claude/pin"},
	"cmd/raymond/internal/action":        {ours: "artifacts artifacts/checkpoint artifacts/slots artifacts/workspace cmd/raymond/internal/agentcli cmd/raymond/internal/checkpoints cmd/raymond/internal/claims cmd/raymond/internal/confine cmd/raymond/internal/conversations cmd/raymond/internal/gitguard cmd/raymond/internal/job cmd/raymond/internal/notes cmd/raymond/internal/options cmd/raymond/internal/outlook cmd/raymond/internal/owncode cmd/raymond/internal/problem cmd/raymond/internal/scope cmd/raymond/internal/seal cmd/raymond/internal/session cmd/raymond/internal/simulation cmd/raymond/internal/sticky examples internal/forge internal/untrusted/files internal/untrusted/secrets internal/untrusted/text protocol runner runner/claude runner/claude/keyproxy runner/claude/transcript runner/prices runner/report runner/shell state", foreign: "github.com/google/uuid github.com/spf13/pflag"},
	"cmd/raymond":                        {ours: "internal/cage artifacts/checkpoint cmd/raymond/internal/action cmd/raymond/internal/confine cmd/raymond/internal/lint cmd/raymond/internal/options cmd/raymond/internal/problem cmd/raymond/internal/runs cmd/raymond/internal/scope cmd/raymond/internal/session cmd/raymond/internal/simulation internal/untrusted/text protocol runner/claude runner/diagram runner/report state internal/untrusted/secrets", foreign: "github.com/spf13/cobra github.com/spf13/pflag"},
	"cmd/raymond/internal/outlook":       {ours: "state", foreign: "gopkg.in/yaml.v3"},
	"cmd/raymond/internal/sticky":        {ours: "cmd/raymond/internal/job internal/forge internal/untrusted/text"},
	"cmd/raymond/internal/owncode":       {ours: "internal/untrusted/files"},
	"cmd/raymond/internal/notes":         {ours: "internal/untrusted/files"},
	"cmd/raymond/internal/seal":          {ours: "internal/untrusted/files cmd/raymond/internal/notes"},
	"cmd/raymond/internal/checkpoints":   {ours: "cmd/raymond/internal/seal state artifacts artifacts/checkpoint artifacts/slots artifacts/workspace internal/untrusted/files internal/untrusted/secrets runner/claude/transcript cmd/raymond/internal/conversations"},
	"cmd/raymond/internal/conversations": {ours: "cmd/raymond/internal/seal state artifacts/checkpoint runner runner/claude/transcript internal/untrusted/files"},
	"cmd/raymond/internal/claims":        {ours: "state artifacts/slots runner internal/forge"},
	"cmd/raymond/internal/runnertest":    {},
	"cmd/raymond/internal/mutanttest":    {},
	"cmd/raymond/internal/sitetest":      {ours: "state artifacts/artifactstest artifacts/checkpoint internal/invarianttest runner/claude/claudetest", foreign: "github.com/google/uuid github.com/rogpeppe/go-internal"},
	"cmd/raymond/internal/releasetest":   {},
	"cmd/raymond/internal/repotest":      {},
	"cmd/raymond/internal/workflowtest":  {foreign: "gopkg.in/yaml.v3"},
}

// testModules are the modules of others that only tests may import.
var testModules = []string{
	"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "github.com/santhosh-tekuri/jsonschema/v6",
}
