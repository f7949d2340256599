package reports

import "github.com/lockchaos/lockchaos/reports/phrase"

func NoteOf(e Expectation) string {
	if e.Note == "" {
		return ""
	}
	return " (" + phrase.Clip(e.Note, phrase.MostText) + ")"
}
