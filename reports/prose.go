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
	tag  string // "", "b", "code" or "tok"
}

func (p prose) t(text string) prose    { return append(p, piece{text, ""}) }
func (p prose) b(text string) prose    { return append(p, piece{text, "b"}) }
func (p prose) code(text string) prose { return append(p, piece{text, "code"}) }

// grant appends a grant's name as a badge.
func (p prose) grant(id, token int64) prose { return append(p, piece{grantName(id, token), "tok"}) }

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
