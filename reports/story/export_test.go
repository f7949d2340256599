package story

// What the tests that also look at pages know of this package.
var (
	PatternRemedies = patternRemedies
	KindRemedies    = kindRemedies
	RemedySections  = remedySections
)

// SentencesOf counts the sentences of a text.
func SentencesOf(text string) int { return Prose{}.t(text).sentences() }
