package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/draw"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

//go:embed page.css *.html.tmpl script/*.js
var files embed.FS

// pages are the templates. They are part of the program: one that does not parse
// is a bug that every test finds. They are parsed when they are first used: most
// processes of a run make no pages, and each would pay for them at its start.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"clip":   func(s string) string { return phrase.Clip(s, phrase.MostText) },
		"name":   func(s string) string { return phrase.Clip(s, phrase.MostName) },
		"word":   func(r reports.Result) string { return r.String() },
		"mark":   reports.Result.Mark,
		"class":  resultClass,
		"policy": policy,
		"facets": facetsOf,
		"link":   link,
		"spark":  draw.Spark,
	}).ParseFS(files, "*.html.tmpl"))
})

// css is the style sheet of every page.
var css = sync.OnceValue(func() template.CSS {
	b, err := files.ReadFile("page.css")
	if err != nil {
		panic(err) // embedded above
	}
	return template.CSS(b)
})

// Style is the style sheet of every page, for pages beside the reports.
func Style() template.CSS { return css() }

// render executes a template whole before it writes, so that an error leaves no half page.
func render(w io.Writer, name string, data any) error {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, data); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// resultClass is the style class of a result.
func resultClass(r reports.Result) string {
	switch r {
	case reports.Pass:
		return "p"
	case reports.Contained:
		return "c"
	case reports.Corrupted, reports.Violated:
		return "v"
	case reports.Skipped:
		return "s"
	case reports.Failed:
		return "f"
	}
	return "i"
}

// outcomeClass is the style class of a property's outcome.
func outcomeClass(word string) string {
	switch word {
	case "pass":
		return "p"
	case "violated":
		return "v"
	case "not judged":
		return "s"
	}
	return "i"
}

// href makes a relative link to a file in a folder of the run. Every segment is
// escaped, so that no name can leave the folder or become an address of its own.
func href(segments ...string) string {
	var out []string
	for _, s := range segments {
		for _, part := range strings.Split(s, "/") {
			if part == "" || part == "." || part == ".." {
				continue
			}
			out = append(out, url.PathEscape(part))
		}
	}
	return "./" + strings.Join(out, "/")
}
