package formats

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// UnknownFormat says that a file is none that is known. It is an ErrUnknownFormat.
type UnknownFormat struct {
	// Pattern reads the first lines, as far as one could tell what is in them;
	// empty: nothing could be told.
	Pattern string
}

func (u *UnknownFormat) Error() string { return ErrUnknownFormat.Error() }

// Unwrap returns ErrUnknownFormat.
func (u *UnknownFormat) Unwrap() error { return ErrUnknownFormat }

// stampPatterns are times at the beginning of a line, as patterns.
var stampPatterns = []string{
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]?\d*(?:Z| ?[+-]\d\d:?\d\d| (?:UTC|MSK|[A-Z]{2,3}T)\b)?`,
	`\d{4}/\d\d/\d\d \d\d:\d\d:\d\d[.,]?\d*`,
	`\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}`,
	`\d+/\d+/\d\d \d+:\d\d:\d\d [AP]M [A-Z]{3,4}`,
	`[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d[.,]?\d*`,
	`\d{4} \d\d:\d\d:\d\d\.\d+`,
	`\d\d:\d\d:\d\d[.,]?\d*`,
	`\d{10,19}(?:\.\d+)?`,
}

// suggest makes a pattern of the first lines: of their time, and of what stands
// around a word that says what happened.
func suggest(head []byte) string {
	var rests []string // what follows the time of the first line, and of others that begin alike
	begins := ""
	for line := range bytes.Lines(whole(head)) {
		text := strings.TrimSpace(string(line))
		begin, rest := suggestBegin(text)
		if begin == "" {
			continue
		}
		for _, way := range [...]func(string) string{suggestPairs, suggestRest} {
			if pattern := way(rest); pattern != "" {
				return begin + pattern
			}
		}
		if begins == "" {
			begins = begin
		}
		if begin == begins {
			rests = append(rests, rest)
		}
	}
	if columns := suggestColumns(rests); columns != "" {
		return begins + columns
	}
	return ""
}

// suggestBegin is the pattern for the time that a line begins with, and what follows it.
func suggestBegin(text string) (begin, rest string) {
	for _, stamp := range stampPatterns {
		at := regexp.MustCompile(`^([\[(]?(?:[IWEF]|\w+=)?"?)(` + stamp + `)`).FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		before := regexp.QuoteMeta(text[at[2]:at[3]])
		if strings.ContainsAny(before, "IWEF") && len(before) == 1 {
			before = "[IWEF]"
		}
		return "^" + before + "(?P<time>" + stamp + ")", text[at[1]:]
	}
	return "", ""
}

// suggestWord is the pattern for a word that is a field.
func suggestWord(word, field string) string {
	if strings.HasPrefix(word, "[") && strings.HasSuffix(word, "]") {
		return `\[(?P<` + field + `>[^]]+)\]`
	}
	name := ""
	if _, value, pair := strings.Cut(word, "="); pair && value != "" {
		name = `\S+=`
	}
	if field == "event" {
		return name + `['"]?(?P<event>[^\s,;:'"]+)[,;:'"]*`
	}
	return name + `['"]?(?P<` + field + `>[^\s,;'"]+)[,;'"]*`
}

// suggestPairs is the pattern for pairs such as worker=a event=acquired, in any order.
func suggestPairs(text string) string {
	pattern, found := "", map[words.Field]bool{}
	for _, pair := range regexp.MustCompile(`(?:^|[\s,])([\w.]+)=("[^"]*"|[^\s,]*)`).FindAllStringSubmatch(text, -1) {
		p, ok := words.FieldMatchOf(pair[1])
		if !ok || found[p.Field] || p.Field != words.FieldClient && p.Field != words.FieldEvent &&
			p.Field != words.FieldKey && p.Field != words.FieldToken {
			continue
		}
		if p.Field == words.FieldEvent && !words.TellsEvent(strings.Trim(pair[2], `"`)) {
			continue
		}
		found[p.Field] = true
		group := `(?P<` + words.Fields[p.Field] + `>`
		pattern += `.*?\b` + regexp.QuoteMeta(pair[1]) + `=(?:"` + group + `[^"]*)"|` + group + `[^\s,"]*))`
	}
	if !found[words.FieldEvent] || !found[words.FieldClient] {
		return ""
	}
	return pattern
}

// suggestRest is the pattern for what follows the time: the word before an
// event is the client, and that behind it the lock.
func suggestRest(text string) string {
	all := strings.Fields(text)
	for i, word := range all {
		if !words.TellsEvent(word) || i == 0 || isFiller(word) && i+1 < len(all) && words.TellsEvent(all[i+1]) {
			continue
		}
		who := i - 1
		if client := all[who]; strings.HasSuffix(client, ":") || strings.HasSuffix(client, "]") &&
			!strings.HasPrefix(client, "[") {
			continue // it names a place in the program
		}
		// a dash, or "Lock acquired": the thread may stand in brackets
		if filler := isFiller(all[who]); filler || !strings.ContainsFunc(all[who], unicode.IsLetter) {
			named := who - 1
			who = slices.IndexFunc(all[:i], func(w string) bool {
				return strings.HasPrefix(w, "[") && strings.HasSuffix(w, "]")
			})
			if who < 0 && filler && named >= 0 && clientName().MatchString(all[named]) { // "worker-1 lock acquired"
				who = named
			}
			if who < 0 {
				continue
			}
		}
		rest, before := `\s+`, who
		if !unicode.IsSpace(rune(text[0])) { // the first word stands at the time
			rest, before = `\S*\s+`, who-1
		}
		if before < 0 {
			continue
		}
		rest += suggestWords(before) + suggestWord(all[who], "client") + `\s+` + suggestWords(i-who-1) +
			suggestWord(word, "event")
		return rest + suggestKey(all[i+1:])
	}
	return ""
}

// fillers are words before an event, and between it and the lock, as in "acquired the lock inv".
const fillers = `(?i:the|lock|mutex|lease|key|for|on|of):?`

var (
	filler     = lazyregexp.New(`^` + fillers + `$`)
	clientName = lazyregexp.New(`^['"]?\w+[-_\d]`) // and no level of a logger
)

func isFiller(word string) bool { return filler().MatchString(word) }

// noKey are words behind an event, or behind "lock", that go on with something else.
var noKey = []string{"after", "in", "at", "with", "by", "from", "until", "within"}

// suggestKey is the pattern for the lock behind an event. Words between the two may stand on some
// lines only. A line that ends with "the lock" names no other one.
func suggestKey(all []string) string {
	n := 0
	for n+1 < len(all) && isFiller(all[n]) && !slices.Contains(noKey, all[n+1]) {
		n++
	}
	switch {
	case len(all) == 0:
		return ""
	case n == 0 && isFiller(all[0]):
		return `\s+` + suggestWord(all[0], "key")
	}
	return `\s+(?:` + fillers + `\s+)*` + suggestWord(all[n], "key")
}

// suggestWords is the pattern for so many words that are no field.
func suggestWords(n int) string {
	return strings.Repeat(`\S+\s+`, n)
}

// suggestColumns is the pattern for lines of which no word is known: the first words that are
// not the same on all lines are the client and, if they are made of letters alone, the event.
func suggestColumns(lines []string) string {
	if len(lines) < 2 {
		return ""
	}
	var columns [][]string
	for n, line := range lines {
		for i, word := range strings.Fields(line) {
			if i == len(columns) && n == 0 {
				columns = append(columns, nil)
			}
			if i < len(columns) {
				columns[i] = append(columns[i], strings.Trim(word, `,;'"`))
			}
		}
	}
	client, event := -1, -1
	for i, column := range columns {
		if len(column) < len(lines) || len(slices.Compact(slices.Sorted(slices.Values(column)))) < 2 {
			continue
		}
		letters := !slices.ContainsFunc(column, func(w string) bool { return !lettersOnly().MatchString(w) })
		if client < 0 && !letters {
			client = i
		} else if event < 0 && letters {
			event = i
		}
	}
	if client < 0 || event < client {
		return ""
	}
	pattern := ""
	for i := range event + 1 {
		field := map[int]string{client: "client", event: "event"}[i]
		if pattern += `\s+`; field == "" {
			pattern += `\S+`
		} else {
			pattern += suggestWord("", field)
		}
	}
	return pattern + `(?: ` + suggestWord("", "key") + `)?`
}

var lettersOnly = lazyregexp.New(`^[A-Za-z_-]+$`)
