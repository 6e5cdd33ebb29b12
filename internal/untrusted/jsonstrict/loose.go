package jsonstrict

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Loose is for what agent CLIs and models write: objects may have names twice, and bytes that are no UTF-8.
var Loose = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
