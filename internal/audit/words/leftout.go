package words

import (
	"bytes"
	"slices"
	"unicode"
)

// A line that is left out may still be a grant in other words: "w3: got lock inv". If it is, two
// clients may hold the lock where the other lines show one. So such a line allows no pass. A line
// that asks for the lock, or says that it was busy, changes nothing and does not count.

// tellsOfLock reports whether a text that is no event of the log seems to say that a client was
// granted a lock, held it or gave it up: by a word that is hardly used of anything else, or by
// another such word near one for a lock.
func (v Vocabulary) tellsOfLock(text []byte) bool {
	if !MayTell(text) {
		return false
	}
	const near = 4
	said := split(string(text))
	lock, verb := -near-1, -near-1 // where the last one was
	for i := 0; i < len(said); {
		m, n := v.phrase(said[i:])
		switch {
		case m == shared, n == 1 && isLock(said[i:]):
			lock = i
		case n == 1 && slices.Contains(locks, Plain(said[i])):
		case noFact(said, i):
		case n == 1 && slices.Contains(grantWords, Plain(said[i])) && m != Ignore:
			return true
		case m == Acquire, m == Grant, m == Release, m == NotHeld, m == Renew, m == Lost,
			n == 1 && slices.Contains(holderWords, Plain(said[i])):
			verb = i
		}
		if i-lock <= near && i-verb <= near {
			return true
		}
		i += n
	}
	return false
}

// MayTell reports whether a text has the letters of a word for a lock, or of one that tells of it.
// Others need no look at their words, and lines of blocks and clocks are common.
func MayTell(text []byte) bool {
	for i, c := range text {
		for _, stem := range stems {
			if c|0x20 == stem[0] && len(text)-i >= len(stem) && bytes.EqualFold(text[i:i+len(stem)], stem) &&
				(c|0x20 != 'l' || i == 0 || text[i-1]|0x20 != 'b' && text[i-1]|0x20 != 'c') {
				return true
			}
		}
	}
	return false
}

var stems = [][]byte{[]byte("lock"), []byte("lease"), []byte("mutex"), []byte("semaphore"), []byte("acquired"), []byte("granted")}

// grantWords tell of a lock by themselves. holderWords do so near a word for a lock, as do the
// usual words of events.
var (
	grantWords  = []string{"acquired", "granted", "released", "locked", "unlocked", "unlock"}
	holderWords = []string{"acquires", "claimed", "dropped", "entered", "gained", "gave", "get", "gets", "grabbed", "has", "held",
		"holding", "holds", "obtains", "owns", "releases", "relinquished", "secured", "seized", "takes", "took", "won", "yielded"}
)

// locks are words for a lock. One of compounds behind it makes it something else, such as a lock
// manager, or a lock that was not granted.
var (
	locks     = []string{"lock", "locks", "mutex", "lease", "leases", "semaphore", "redlock"}
	compounds = []string{"server", "service", "manager", "table", "file", "files", "client", "store", "wait", "timeout", "ttl", "free",
		"failed", "failure", "error", "busy"}
)

// isLock reports whether a text goes on with a word for a lock.
func isLock(said []string) bool {
	return slices.Contains(locks, Plain(said[0])) && (len(said) == 1 || !slices.Contains(compounds, Plain(said[1])))
}

// denials are words before another one that make it no fact, as in "could not acquire".
var denials = []string{"not", "be", "will", "cannot", "cant", "couldnt", "didnt", "wont", "never"}

// noFact reports whether the words around a word take from it that its client has the lock. SQLite
// says of its own file that the database is locked.
func noFact(said []string, i int) bool {
	word := func(i int) string {
		if i < 0 || i >= len(said) {
			return ""
		}
		return Plain(said[i])
	}
	switch before, last := word(i-2), word(i-1); {
	case last == "to":
		return !slices.Contains([]string{"able", "managed", "succeeded"}, before)
	case last == "is" && word(i) == "locked":
		return slices.Contains([]string{"database", "table", "account"}, before)
	case word(i) == "held" && word(i+1) == "by": // so says a client that was refused
		return true
	default:
		return slices.Contains(denials, last)
	}
}

// phrase is the meaning of the next words of a text, such as "timed out", and how many they are.
func (v Vocabulary) phrase(said []string) (Meaning, int) {
	const longest = len("attemptingtoacquire")
	words, means, n := Plain(said[0]), unknown, 1
	for i := 1; i < len(said) && len(words) < longest; i++ {
		words += Plain(said[i])
		if m, ok := usual[words]; ok {
			means, n = m, i+1
		}
	}
	if n > 1 {
		return means, n
	}
	return v.of(said[0]), 1
}

// split is the words of a text, also of names such as lockAcquired.
func split(text string) (said []string) {
	var last rune
	from := -1
	for i, r := range text {
		within := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' && unicode.IsLetter(last)
		if from >= 0 && (!within || unicode.IsLower(last) && unicode.IsUpper(r)) {
			said, from = append(said, text[from:i]), -1
		}
		if within && from < 0 {
			from = i
		}
		last = r
	}
	if from >= 0 {
		said = append(said, text[from:])
	}
	return said
}
