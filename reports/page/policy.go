package page

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// The scripts of pages: each is inlined as it stands here, and allowed by its hash.
var (
	timelineScript = script("data.js", "draw.js", "view.js")
	downloadScript = script("download.js")
	filterScript   = script("filter.js")
	placeScript    = script("place.js")
)

// script joins files of script/, when they are first used, into one program that leaves nothing
// behind in the page's global scope.
func script(names ...string) func() template.JS {
	return sync.OnceValue(func() template.JS {
		var b strings.Builder
		b.WriteString("(() => {\n'use strict';\n")
		for _, name := range names {
			text, err := files.ReadFile("script/" + name)
			if err != nil {
				panic(err) // embedded
			}
			b.Write(text)
		}
		b.WriteString("})();\n")
		return template.JS(b.String())
	})
}

// scripts are the hashes of the scripts of all pages, as a policy lists them.
var scripts = sync.OnceValue(func() string {
	return hashed(string(timelineScript()), string(downloadScript()), string(filterScript()), string(placeScript()))
})

// Scripts lists the scripts of all pages as the sources of a policy: a server
// of reports of unknown origin can let these run, and no others.
func Scripts() string { return scripts() }

// policy is the content security policy of every page: no request at all, no
// script and no style sheet but our own, by their hashes. What a program under
// test printed can therefore not run, even if it were not escaped.
var policy = sync.OnceValue(func() string {
	return "default-src 'none'; style-src " + hashed(sheets()...) + "; script-src " + scripts() +
		"; img-src data:; base-uri 'none'; form-action 'none'"
})

// sheets lists the style sheets of all pages as their templates have them: the
// common one, alone or with what only that page needs.
func sheets() []string {
	names, err := fs.Glob(files, "*.html.tmpl")
	if err != nil {
		panic(err) // the pattern is good
	}
	var out []string
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // embedded
		}
		if _, sheet, ok := strings.Cut(string(text), "<style>"); ok {
			sheet, _, _ = strings.Cut(sheet, "</style>")
			if sheet = strings.Replace(sheet, "{{.CSS}}", string(css()), 1); !slices.Contains(out, sheet) {
				out = append(out, sheet)
			}
		}
	}
	return out
}

// hashed lists the sources that a policy allows, by what they hold (CSP level 3, 6.7.3).
func hashed(texts ...string) string {
	var out []string
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		out = append(out, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return strings.Join(out, " ")
}
