package schema

import (
	_ "embed"
	"sync"
)

// metaText is what a schema of draft 2020-12 looks like, in one schema. Two keywords may have any
// value, as they change nothing: format, and $id at the top. The survey sees to $schema.
//
//go:embed meta.json
var metaText string

// schemaOfSchemas is read when the first schema is. Most runs have none.
var schemaOfSchemas = sync.OnceValue(func() *Schema {
	doc, _ := read(metaText)
	s, _ := survey(doc)
	return s
})
