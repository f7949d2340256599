package reports

import (
	"html/template"
	"strconv"
	"strings"
)

// prose is a sentence with emphasis. It knows its own escaping, so that a page and a plain-text reader get the same words.
type prose []piece

type piece struct {
	text string
	tag  string // "", "b", "code", "tok" or "a"
	href string // of an "a"
}

func (p prose) t(text string) prose    { return append(p, piece{text: text}) }
func (p prose) b(text string) prose    { return append(p, piece{text: text, tag: "b"}) }
func (p prose) code(text string) prose { return append(p, piece{text: text, tag: "code"}) }

// grant appends a grant's name as a badge.
func (p prose) grant(id, token int64) prose {
	return append(p, piece{text: grantName(id, token), tag: "tok"})
}

// doc appends a link to a place in the documentation: "remedies.md#no-lock".
func (p prose) doc(text, place string) prose {
	return append(p.t(" "), piece{text: text, tag: "a", href: docs + place})
}

// docs is where the documentation can be read by those who have nothing but the page.
const docs = "https://github.com/lockchaos/lockchaos/blob/main/docs/"

// String returns the words alone.
func (p prose) String() string {
	var b strings.Builder
	for _, x := range p {
		b.WriteString(x.text)
	}
	return b.String()
}

// HTML returns the sentence marked up, every text escaped.
func (p prose) HTML() template.HTML {
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

func itoa[T integer](n T) string { return strconv.FormatInt(int64(n), 10) }

func client(n int32) string { return "client " + itoa(n) }
