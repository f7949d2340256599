package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// home is the page that a reader sees first.
const home = "README.md"

// site is what is made.
type site struct {
	options
	// pages are the Markdown files by their paths in the repository, with slashes.
	pages map[string]*page
	// copies are files that are taken as they are: from their places in the
	// site to where they are now.
	copies map[string]string
	// made are the survey's pages, by their places in the site.
	made map[string][]byte
}

// page is a Markdown file.
type page struct {
	Path, Title string
	// Sections are its headings of the second level.
	Sections []section
	source   []byte
	tree     ast.Node
}

// section is a heading, and its place in the page.
type section struct{ ID, Title string }

// markdown reads what GitHub reads, without HTML: link refuses that.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Linkify, extension.Strikethrough,
	// the pages' policy refuses style attributes
	extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))))

// sources are the Markdown files that are pages. The reports of the survey are
// among them, since pages of docs lead to them.
var sources = []string{home, "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/*/*.md", "survey/README.md",
	"survey/*/report.md"}

// parse reads the pages.
func (s *site) parse() error {
	repo := os.DirFS(s.repo)
	for _, pattern := range sources {
		files, err := fs.Glob(repo, pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			source, err := fs.ReadFile(repo, file)
			if err != nil {
				return err
			}
			s.pages[file] = newPage(file, source)
		}
	}
	if s.pages[home] == nil {
		return fmt.Errorf("%s has no %s: start this from the repository's top", s.repo, home)
	}
	return nil
}

// newPage parses a page, and gives its headings the places that GitHub gives them.
func newPage(file string, source []byte) *page {
	p := &page{Path: file, Title: file, source: source, tree: markdown.Parser().Parse(text.NewReader(source))}
	seen := map[string]int{}
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, is := n.(*ast.Heading)
		if !is {
			continue
		}
		title := plain(h, source)
		id := slug(title)
		seen[id]++
		if more := seen[id] - 1; more > 0 {
			id = fmt.Sprintf("%s-%d", id, more)
		}
		h.SetAttributeString("id", []byte(id))
		switch {
		case h.Level == 1 && p.Title == file:
			p.Title = title
		case h.Level == 2:
			p.Sections = append(p.Sections, section{id, title})
		}
	}
	return p
}

// plain is the text of a node without its markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Value(source))
		case *ast.AutoLink:
			b.Write(c.Label(source))
		default:
			b.WriteString(plain(c, source))
		}
	}
	return b.String()
}

// slug is the place that GitHub makes of a heading.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}

// place is where a file of the repository lies in the site.
func place(file string) string {
	dir, name := path.Split(file)
	if name == home {
		return dir + "index.html"
	}
	if stem, is := strings.CutSuffix(file, ".md"); is {
		return stem + ".html"
	}
	return file
}

// html renders a page's Markdown. Tables scroll by themselves, so that the page
// does not. The tag is certainly of a table: all text is escaped.
func (p *page) html() (string, error) {
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.source, p.tree); err != nil {
		return "", fmt.Errorf("render %s: %w", p.Path, err)
	}
	return strings.NewReplacer("<table>", `<div class="scroll"><table>`, "</table>",
		"</table></div>").Replace(b.String()), nil
}
