package main

import (
	"runtime/debug"
	"strings"
)

// bom is the part of CycloneDX that the lists need.
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component  component  `json:"component"`
	Properties []property `json:"properties"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// list describes a program by what the linker wrote into it. It has no time and
// no serial number, which would make each list another.
func list(info *debug.BuildInfo, version, sha256 string) bom {
	main := library(info.Main.Path, version)
	main.Type = "application"
	main.Hashes = []hash{{"SHA-256", sha256}}
	b := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{Component: main},
	}
	for _, s := range info.Settings {
		b.Metadata.Properties = append(b.Metadata.Properties, property{"go:build:" + s.Key, s.Value})
	}
	needs := dependency{Ref: main.Ref}
	for _, c := range append(modules(info), standard(info)) {
		b.Components = append(b.Components, c)
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{needs}
	return b
}

func modules(info *debug.BuildInfo) []component {
	var all []component
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := library(m.Path, m.Version)
		c.Properties = []property{{"go:sum", m.Sum}}
		all = append(all, c)
	}
	return all
}

// standard is the standard library, under the name by which its vulnerabilities
// are listed.
func standard(info *debug.BuildInfo) component {
	return library("stdlib", strings.TrimPrefix(info.GoVersion, "go"))
}

func library(name, version string) component {
	purl := "pkg:golang/" + name + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Ref: purl, Type: "library", Name: name, Version: version, PURL: purl}
}
