// Package schema has the JSON Schemas that are published, as far as the program itself checks by them.
package schema

import _ "embed"

// Replies describes the file that raymond simulate --replies reads.
//
//go:embed replies.schema.json
var Replies string
