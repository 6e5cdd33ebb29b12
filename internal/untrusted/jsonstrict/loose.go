package jsonstrict

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Loose contains options for decoding JSON of agent CLIs and models, which may contain duplicate names and
// invalid UTF-8.
var Loose = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
