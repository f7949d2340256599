package story

import (
	"slices"
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/docs"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// SortProtocol is the sort of the words that an adapter and lockchaos say to each other.
const SortProtocol = "word of an adapter"

// protocolSections are the sections of docs/protocol.md whose lists define words, with what to do
// about one. Of a word that two of them have, the first says more.
var protocolSections = []struct{ heading, do string }{
	{"Declaration", declareIt}, {"Instances of a scheduler", declareIt}, {"Errors", answerIt}, {"Requests", answerIt}, {"Replies", answerIt},
}

const (
	declareIt = "Declare it in the reply to hello if the library promises it, and leave it out if not: only what is declared is held against the lock. " + tryIt
	answerIt  = "Look at the whole conversation on that page. " + tryIt
	tryIt     = "What an adapter gets wrong is told by: lockchaos adapter test COMMAND --service SERVICE."
)

// Protocol lists the words of the protocol: what an adapter declares in the reply to hello, the
// values of that, its errors, requests and stamps. docs/protocol.md is what they are made of.
var Protocol = sync.OnceValue(func() (all []Term) {
	for _, section := range protocolSections {
		for _, item := range listItems(docs.Protocol, section.heading) {
			for _, t := range item.terms() {
				t.Sort, t.Do, t.See, t.brief = SortProtocol, section.do, "protocol.md#"+anchorOf(section.heading), firstSentence(t.Means)
				if !slices.ContainsFunc(all, func(o Term) bool { return o.Word == t.Word && (o.See != t.See || o.Means == t.Means) }) {
					all = append(all, t)
				}
			}
		}
	}
	return all
})

// listItem is one of a Markdown list, with those inside it.
type listItem struct {
	text   string
	inside []string
}

// listItems are those of the lists of a section, up to the next heading.
func listItems(page, heading string) (all []listItem) {
	_, section, _ := strings.Cut(page, "# "+heading+"\n")
	in := false
	for line := range strings.Lines(section) {
		line = strings.TrimRight(line, "\n")
		switch text := strings.TrimSpace(line); {
		case strings.HasPrefix(line, "#"):
			return all
		case strings.HasPrefix(line, "- "):
			all, in = append(all, listItem{text: line[len("- "):]}), true
		case !in || !strings.HasPrefix(line, "  "):
			in = false
		case strings.HasPrefix(text, "- "):
			last := &all[len(all)-1]
			last.inside = append(last.inside, text[len("- "):])
		default:
			last := &all[len(all)-1]
			if n := len(last.inside); n > 0 {
				last.inside[n-1] += " " + text
			} else {
				last.text += " " + text
			}
		}
	}
	return all
}

// defined matches the words that an item of a list defines, what stands in brackets, and the rest.
var defined = lazyregexp.New("^((?:`[a-z_-]+`(?:, )?)+)(?: \\(([^)]*)\\))?(?:: *(.*))?$")

// terms are the words that the item defines, and their values.
func (i listItem) terms() (all []Term) {
	words, means := definition(i.text)
	for _, value := range i.inside {
		names, says := definition(value)
		for _, name := range names {
			for _, of := range words {
				all = append(all, Term{Word: name, Means: phrase.Sentence("as " + of + ": " + says)})
			}
		}
		means = phrase.Stop(means) + " " + phrase.Stop(plain(value))
	}
	for n, word := range words {
		all = slices.Insert(all, n, Term{Word: word, Means: phrase.Sentence(means)})
	}
	return all
}

// definition takes an item apart: the words that it defines, none if it defines none, and what it
// says of them.
func definition(item string) (words []string, means string) {
	m := defined().FindStringSubmatch(item)
	if m == nil {
		return nil, ""
	}
	for word := range strings.SplitSeq(m[1], ", ") {
		words = append(words, strings.Trim(word, "`"))
	}
	means = plain(m[3])
	if m[2] != "" {
		means = strings.TrimSpace("(" + plain(m[2]) + ") " + means)
	}
	return words, means
}

// plain is a text of Markdown as a terminal shows it.
func plain(markdown string) string { return quote(markdown).String() }
