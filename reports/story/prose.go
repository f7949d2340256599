package story

import (
	"html/template"
	"strings"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// Prose is a sentence with emphasis. It knows its own escaping, so that a page
// and a plain-text reader get the same words.
type Prose []piece

type piece struct {
	text string
	tag  string // "", "b", "code", "tok" or "a"
	href string // of an "a"
}

func (p Prose) t(text string) Prose { return append(p, piece{text: text}) }

func (p Prose) b(text string) Prose { return append(p, piece{text: text, tag: "b"}) }

func (p Prose) code(text string) Prose { return append(p, piece{text: text, tag: "code"}) }

// grant appends a grant's name as a badge.
func (p Prose) grant(name string) Prose {
	return append(p, piece{text: name, tag: "tok"})
}

// OnTheWeb is where the documentation is, for those who have nothing but the
// page. Nothing that a reader needs is only there.
const OnTheWeb = "https://github.com/lockchaos/lockchaos/blob/main/docs/"

// String returns the words alone.
func (p Prose) String() string {
	var b strings.Builder
	for _, x := range p {
		b.WriteString(x.text)
	}
	return b.String()
}

// sentenceEnd is where a sentence ends: not in "1.5 s", and not where the text
// goes on in lower case.
var sentenceEnd = lazyregexp.New(`([.!?][")”]?)(?:\s+[A-Z0-9“"(]|\s*$)`)

// sentences counts the sentences of p.
func (p Prose) sentences() int {
	text := strings.TrimSpace(p.String())
	if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "." // the last one has no full stop
	}
	return len(sentenceEnd().FindAllString(text, -1))
}

// atMost leaves the first n sentences of p.
func (p Prose) atMost(n int) Prose {
	ends := sentenceEnd().FindAllStringSubmatchIndex(p.String(), -1)
	if n <= 0 || len(ends) <= n {
		return p
	}
	left := ends[n-1][3]
	var out Prose
	for _, x := range p {
		if len(x.text) >= left {
			x.text = x.text[:left]
			return append(out, x)
		}
		left -= len(x.text)
		out = append(out, x)
	}
	return out
}

// HTML returns the sentence marked up, every text escaped.
func (p Prose) HTML() template.HTML {
	var b strings.Builder
	for _, x := range p {
		text := template.HTMLEscapeString(x.text)
		switch x.tag {
		case "b":
			b.WriteString("<b>" + text + "</b>")
		case "code":
			b.WriteString("<code>" + text + "</code>")
		case "a":
			b.WriteString(`<a href="` + template.HTMLEscapeString(x.href) + `">` + text + "</a>")
		case "tok":
			b.WriteString(`<span class="tok">` + text + "</span>")
		default:
			b.WriteString(text)
		}
	}
	return template.HTML(b.String())
}
