package forms

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/lockchaos/lockchaos/audit/words"
)

// UnknownFormat says that a file is none that is known. It is an ErrUnknownFormat.
type UnknownFormat struct {
	// Pattern reads the first lines, as far as one could tell what is in them; empty: nothing could be told.
	Pattern string
}

func (u *UnknownFormat) Error() string { return ErrUnknownFormat.Error() }

// Unwrap returns ErrUnknownFormat.
func (u *UnknownFormat) Unwrap() error { return ErrUnknownFormat }

// stampPatterns are times at the beginning of a line, as patterns.
var stampPatterns = []string{
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]?\d*(?:Z| ?[+-]\d\d:?\d\d| [A-Z]{3,4}\b)?`,
	`\d{4}/\d\d/\d\d \d\d:\d\d:\d\d[.,]?\d*`,
	`\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}`,
	`\d+/\d+/\d\d \d+:\d\d:\d\d [AP]M [A-Z]{3,4}`,
	`[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d[.,]?\d*`,
	`\d{4} \d\d:\d\d:\d\d\.\d+`,
	`\d\d:\d\d:\d\d[.,]?\d*`,
	`\d{10,19}(?:\.\d+)?`,
}

// suggest makes a pattern of the first lines: of their time, and of what stands around a word that says what happened.
func suggest(head []byte) string {
	for line := range bytes.Lines(whole(head)) {
		text := strings.TrimSpace(string(line))
		for _, stamp := range stampPatterns {
			begin := regexp.MustCompile(`^([\[(]?(?:[IWEF]|time=)?)(` + stamp + `)`)
			at := begin.FindStringSubmatchIndex(text)
			if at == nil {
				continue
			}
			if rest := suggestRest(text[at[1]:]); rest != "" {
				return "^" + regexp.QuoteMeta(text[at[2]:at[3]]) + "(?P<time>" + stamp + ")" + rest
			}
			break
		}
	}
	return ""
}

// suggestRest is the pattern for what follows the time: the word before an event is the client, and that behind it the lock.
func suggestRest(text string) string {
	all := strings.Fields(text)
	for i, word := range all {
		if !words.TellsEvent(word) || i == 0 {
			continue
		}
		client, last := all[i-1], " "
		if strings.HasSuffix(client, ":") || strings.HasSuffix(client, "]") && !strings.HasPrefix(client, "[") {
			continue // it names a place in the program
		}
		if !strings.ContainsFunc(client, unicode.IsLetter) { // a dash: the thread may stand in brackets
			bracketed := slices.IndexFunc(all[:i], func(w string) bool { return strings.HasPrefix(w, "[") && strings.HasSuffix(w, "]") })
			if bracketed < 0 {
				continue
			}
			client, last = all[bracketed], ".* "
		}
		name := `(?P<client>\S+)`
		if strings.HasPrefix(client, "[") && strings.HasSuffix(client, "]") {
			name = `\[(?P<client>[^]]+)\]`
		}
		if _, value, pair := strings.Cut(client, "="); pair && value != "" {
			name = `\S+=(?P<client>\S+)`
		}
		begin := `.*[ :]`
		if last != " " {
			begin = `.*?[ :]`
		}
		rest := begin + name + last + `(?P<event>\S+)`
		if i+1 < len(all) {
			rest += ` (?P<key>\S+)`
		}
		return rest
	}
	return ""
}
