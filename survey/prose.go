package survey

import (
	"html/template"
	"regexp"
)

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	webLink  = regexp.MustCompile(`\[([^\]]+)\]\((https://[^)\s]+)\)`)
)

// prose is a clause of a card as HTML: of Markdown, cards use code and links to
// the web alone. All else is text, so it is escaped first.
func prose(text string) template.HTML {
	text = template.HTMLEscapeString(text)
	text = codeSpan.ReplaceAllString(text, "<code>$1</code>")
	return template.HTML(webLink.ReplaceAllString(text, `<a href="$2">$1</a>`))
}
