package story

import (
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/docs"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// section is a section of docs/remedies.md, which a page carries so that it can be read offline.
type section struct {
	Title string
	Body  []Prose
}

// remedySections are the sections of docs/remedies.md by their anchors.
var remedySections = sync.OnceValue(func() map[string]*section { return sectionsOf(docs.Remedies) })

// sectionsOf takes a page of the documentation apart. It knows what those pages
// use: headings, paragraphs, code, emphasis and links.
func sectionsOf(page string) map[string]*section {
	out := map[string]*section{}
	for _, part := range strings.Split(page, "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		s := &section{Title: title}
		for _, paragraph := range strings.Split(strings.TrimSpace(body), "\n\n") {
			s.Body = append(s.Body, quote(strings.ReplaceAll(paragraph, "\n", " ")))
		}
		out[anchorOf(title)] = s
	}
	return out
}

// anchorOf is what a heading is linked by, as GitHub makes it.
func anchorOf(title string) string {
	kept := strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(title))
	return strings.ReplaceAll(kept, " ", "-")
}

var markup = lazyregexp.New("`([^`]+)`|\\*([^*]+)\\*|\\[([^\\]]+)\\]\\(([^)]+)\\)")

// quote turns a paragraph of Markdown into prose. A link to the same page
// becomes its words: the section may not be on the report.
func quote(paragraph string) Prose {
	var p Prose
	for rest := paragraph; rest != ""; {
		m := markup().FindStringSubmatchIndex(rest)
		if m == nil {
			return p.t(rest)
		}
		if m[0] > 0 {
			p = p.t(rest[:m[0]])
		}
		switch group := func(i int) string { return rest[m[2*i]:m[2*i+1]] }; {
		case m[2] >= 0:
			p = p.code(group(1))
		case m[4] >= 0:
			p = p.b(group(2))
		case strings.HasPrefix(group(4), "#"):
			p = p.t(group(3))
		default:
			p = append(p, piece{text: group(3), tag: "a", href: OnTheWeb + group(4)})
		}
		rest = rest[m[1]:]
	}
	return p
}
