package schema

import (
	_ "embed"
	"sync"
)

// metaText is the schema that schemas of draft 2020-12 must fit, in one document. It allows any
// value for two keywords that have no effect: format, and $id at the top. checkKeywords checks
// $schema.
//
//go:embed meta.json
var metaText string

// schemaOfSchemas returns the Schema in metaText. It is compiled on the first call, because most
// runs have no schema.
var schemaOfSchemas = sync.OnceValue(func() *Schema {
	doc, _ := read(metaText)
	s, _ := compile(doc)
	return s
})
