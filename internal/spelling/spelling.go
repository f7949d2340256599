// Package spelling guesses what somebody meant who mistyped a word: of a
// command line, or of a file that is read strictly.
package spelling

import (
	"slices"
	"strings"
)

// Suggest returns the known words that come nearest to a mistyped one, as the
// end of an error message: "; did you mean run?". It is empty where none is
// near. The distance is Levenshtein's, up to two letters or a third of the word.
func Suggest(word string, known []string) string {
	best := max(2, len(word)/3)
	var near []string
	for _, k := range known {
		if len(k) > len(word)+best || len(word) > len(k)+best {
			continue // it takes so many letters more
		}
		switch d := distance(word, k); {
		case d < best:
			best, near = d, []string{k}
		case d == best && !slices.Contains(near, k): // a scenario may stand in several suites
			near = append(near, k)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near[:min(len(near), 3)], ", or ") + "?"
}

// distance is Levenshtein's: how many letters must be put in, taken away or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
