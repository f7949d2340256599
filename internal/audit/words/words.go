// Package words finds out what a record of a log says: who did what to which key, and how
// it ended. A record is a row of texts. Its columns are named by the user or guessed
// (Columns), its words are taught or usual (Vocabulary), and a Worker makes events of rows.
//
// A new word is one line in usual, a new name of a column one in usualColumns.
package words

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// Meaning is what the word of an event tells.
type Meaning uint8

// The meanings.
const (
	unknown Meaning = iota
	// acquire: asked for, where the log also has grants; else granted.
	Acquire
	Request
	Grant
	Busy
	Release
	NotHeld
	Renew
	Lost
	Read
	Write
	Refused
	Ignore
	// shared: of a reader-writer lock, which is refused.
	shared
	// attempt: acquire where the record says how it ended, else request.
	attempt
)

// Meanings lists the meanings that a word of an event can be given.
var Meanings = []string{"acquire", "request", "grant", "busy", "release", "not-held", "renew", "lost", "read", "write",
	"refused", "ignore"}

var meaningOf = map[string]Meaning{"acquire": Acquire, "request": Request, "grant": Grant, "busy": Busy,
	"release": Release, "not-held": NotHeld,
	"renew": Renew, "lost": Lost, "read": Read, "write": Write, "refused": Refused, "ignore": Ignore}

// usual is what words mean where nobody says so, in the form that plain gives them.
var usual = map[string]Meaning{
	"acquire": Acquire, "lock": Acquire, "take": Acquire,
	"request": Request, "requested": Request, "acquiring": Request, "wait": Request, "waiting": Request, "try": attempt,
	"tryacquire": attempt, "attempt": attempt, "attempting": Request, "trying": Request, "enqueue": Request,
	"tryingtoacquire": Request, "attemptingtoacquire": Request, "waitingfor": Request,
	"grant": Grant, "granted": Grant, "acquired": Grant, "locked": Grant, "obtained": Grant, "got": Grant,
	"taken": Grant,
	"busy":  Busy, "denied": Busy, "notacquired": Busy, "acquirefailed": Busy, "timeout": Busy, "timedout": Busy,
	"acquiretimeout": Busy, "couldnotacquire": Busy, "failedtoacquire": Busy, "contended": Busy,
	"release": Release, "released": Release, "unlock": Release, "unlocked": Release, "free": Release, "freed": Release,
	"notheld": NotHeld, "notowner": NotHeld, "notlockowner": NotHeld, "notpermitowner": NotHeld,
	"releasefailed": NotHeld,
	"renew":         Renew, "renewed": Renew, "refresh": Renew, "refreshed": Renew, "extend": Renew, "extended": Renew,
	"keepalive": Renew, "heartbeat": Renew,
	"lost": Lost, "expired": Lost, "expire": Lost, "revoked": Lost, "evicted": Lost,
	"read": Read, "get": Read,
	"write": Write, "wrote": Write, "written": Write, "update": Write, "updated": Write, "put": Write, "set": Write,
	"refused": Refused, "rejected": Refused, "fenced": Refused, "writerefused": Refused, "writerejected": Refused,
	"readlock": shared, "rlock": shared, "acquireread": shared, "acquireshared": shared, "sharedlock": shared,
	"lockshared": shared, "writelock": shared,
	"acquirewrite": shared, "readunlock": shared, "runlock": shared, "releaseread": shared, "releaseshared": shared,
	"releasewrite": shared,
}

// kinds are the ops that words mean where ops are told and not logged.
var kinds = map[Meaning]history.Kind{Acquire: history.Acquire, Request: history.Acquire, attempt: history.Acquire,
	Grant: history.Acquire, Release: history.Release, Renew: history.Renew,
	Read: history.Read, Write: history.Write}

// OpOf is the op that a tool's word means; KindNone: nobody knows. Shared locks are an error.
func OpOf(word string) (history.Kind, error) {
	meant := usually(word)
	if meant == shared {
		return history.KindNone, ErrShared
	}
	return kinds[meant], nil
}

// Plain is a word without what people write it with: letters and digits in lower case.
func Plain(word string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, word)
}

// inRecord is what a word means in a record that does or does not say how it ended. told: other
// acquires of the log say that they were granted.
func (m Meaning) inRecord(ends, told bool) Meaning {
	switch {
	case !ends && (m == attempt || m == Acquire && told):
		return Request
	case m == attempt:
		return Acquire
	}
	return m
}

// begun is what a word means in a record that says that its op begins. Another record says how a
// release or a renewal ended. Of reads and writes that one is enough.
func (m Meaning) begun() Meaning {
	switch m {
	case Acquire, attempt, Grant, Request:
		return Request
	case Release, Renew:
		return m
	}
	return Ignore
}

// usually is what a word means where nobody says so. "lock" around a word adds
// nothing: lock.acquired, release_lock.
func usually(word string) Meaning {
	w := Plain(word)
	if m, ok := usual[w]; ok {
		return m
	}
	for _, w := range [...]string{strings.TrimPrefix(w, "lock"), strings.TrimSuffix(w, "lock")} {
		if m, ok := usual[w]; ok {
			return m
		}
	}
	return unknown
}

// TellsEvent reports whether a word usually says what happened to a lock.
func TellsEvent(word string) bool {
	m := usually(word)
	return m != unknown && m != Ignore
}

// ErrShared: what a word tells of is not judged.
var ErrShared = errors.New("a reader-writer lock: shared holds are not judged. Give each mode a key of its own, or leave these lines out")

// ofLock are the meanings that tell of the lock itself, and not of the work under it.
var ofLock = []Meaning{Acquire, Request, attempt, Grant, Busy, Release, NotHeld, Renew, Lost}

// UnknownWord is a word of the event column that means nothing here.
type UnknownWord struct{ Word string }

func (u *UnknownWord) Error() string {
	return "nobody knows what this event means: say so with --events, as one of " + strings.Join(Meanings, ", ")
}

// UnknownResult is a word of the result column that means nothing here.
type UnknownResult struct{ Word string }

func (u *UnknownResult) Error() string {
	if u.Word == "0" || u.Word == "1" {
		return "nobody knows whether 0 means success here, as of an exit status, or failure: say --results ok=0,fail=1, or --results ok=1,fail=0"
	}
	return "nobody knows this result: say with --results whether it means " + strings.Join(Results, ", ")
}

// Vocabulary is what the words of one log mean.
type Vocabulary struct {
	words   map[string]Meaning
	results map[string]Ending
}

// Results lists how an op can have ended, by the words of a result.
var Results = []string{"ok", "fail", "refused", "unknown", "begins"}

var resultOf = map[string]Ending{"ok": EndedOK, "fail": EndedFail, "refused": EndedRefused, "unknown": EndedUnknown,
	"begins": EndedNotYet}

// NewVocabulary learns words by what they mean (Meanings, Results). They come
// before the usual ones.
func NewVocabulary(taught, ended map[string][]string) (Vocabulary, error) {
	v := Vocabulary{map[string]Meaning{}, map[string]Ending{}}
	if err := learn(v.results, ended, resultOf, "a", "result", Results); err != nil {
		return v, err
	}
	return v, learn(v.words, taught, meaningOf, "an", "event", Meanings)
}

// learn adds words to those that are known, by the names of what they mean.
// article and kind are what the words are called, and names what they can mean.
func learn[M comparable](known map[string]M, taught map[string][]string, named map[string]M, article, kind string,
	names []string) error {
	for name, words := range taught {
		means, ok := named[name]
		if !ok {
			return fmt.Errorf("%s %s can't mean %q; it can mean %s", article, kind, name, strings.Join(names, ", "))
		}
		for _, word := range words {
			if other, twice := known[word]; twice && other != means {
				return fmt.Errorf("the %s %q is given two meanings", kind, word)
			}
			known[word] = means
		}
	}
	return nil
}

// of is the meaning of a word, unknown if it has none.
func (v Vocabulary) of(word string) Meaning {
	if m, ok := v.words[word]; ok {
		return m
	}
	m := usually(word)
	if rest, ok := v.words["*"]; ok && m == unknown {
		return rest
	}
	return m
}

// Taught is what a word of a result was taught to mean.
func (v Vocabulary) Taught(word string) (Ending, bool) {
	how, ok := v.results[word]
	return how, ok
}

// ended is how an op ended, by its result, or else by what went wrong.
func (v Vocabulary) ended(result, wrong string) Ending {
	if e := v.ending(result); e != EndedOK {
		return e
	}
	return failing(wrong)
}

// ending is what a word says of how an op ended.
func (v Vocabulary) ending(word string) Ending {
	if how, ok := v.results[word]; ok {
		return how
	}
	if slices.Contains(beginnings, Plain(word)) {
		return EndedNotYet
	}
	return EndingOf(word)
}

// Ending is how an op ended, by the result column or an answer.
type Ending uint8

// The endings.
const (
	EndedOK Ending = iota
	EndedFail
	EndedRefused // by a fence
	EndedUnknown
	EndedNotYet  // the op begins: another line says how it ended
	EndedSomehow // a word that nobody knows
)

var outcomes = [...]history.Type{EndedOK: history.OK, EndedFail: history.Fail, EndedRefused: history.Fail,
	EndedUnknown: history.Info, EndedNotYet: history.Info}

// Outcome is what an op's completion is that ended so.
func (e Ending) Outcome() history.Type { return outcomes[e] }

// String is the ending in a word.
func (e Ending) String() string { return endingWords[e] }

// beginnings are the words for an op that begins, in the form that plain gives them.
var beginnings = []string{"start", "started", "starting", "begin", "began", "beginning", "pending", "waiting",
	"requested", "attempting", "queued", "invoked", "call", "invoke", "enter", "entry", "before", "request", "req", "b"}

// endings are the words for how an op ended, in the form that plain gives them.
var endings = map[string]Ending{
	"": EndedOK, "ok": EndedOK, "success": EndedOK, "succeeded": EndedOK, "true": EndedOK, "1": EndedOK,
	"yes": EndedOK, "y": EndedOK, "no": EndedFail, "n": EndedFail, "t": EndedOK, "f": EndedFail,
	"granted": EndedOK, "accepted": EndedOK, "200": EndedOK,
	"acquired": EndedOK, "released": EndedOK, "done": EndedOK, "locked": EndedOK, "unlocked": EndedOK,
	"fail": EndedFail, "failed": EndedFail, "failure": EndedFail, "false": EndedFail, "0": EndedFail,
	"denied": EndedFail, "busy": EndedFail, "conflict": EndedFail,
	"refused": EndedRefused, "rejected": EndedRefused, "fenced": EndedRefused, "stale": EndedRefused,
	"notheld": EndedFail, "notowner": EndedFail, "notlockowner": EndedFail,
	"info": EndedUnknown, "unknown": EndedUnknown, "timeout": EndedUnknown, "timedout": EndedUnknown,
	"error": EndedUnknown, "indeterminate": EndedUnknown,
}

// noErrors are what a column of errors holds where there is none, as plain gives it.
var noErrors = []string{"", "nil", "none", "null", "undefined", "na", "no", "n", "false", "f", "ok", "success", "noerror"}

// failing is how an op ended by what a column of errors holds: that of an error is not known,
// unless it says that the op was denied.
func failing(text string) Ending {
	if code := strings.Trim(Plain(text), "0"); slices.Contains(noErrors, code) { // PostgreSQL's success is 00000
		return EndedOK
	}
	if e := EndingOf(text); e == EndedFail || e == EndedRefused {
		return e
	}
	return EndedUnknown
}

// EndingOf is how an op ended, by a word as tools have it.
func EndingOf(word string) Ending {
	if e, ok := endings[Plain(word)]; ok {
		return e
	}
	return EndedSomehow
}

// DeniesHold reports whether the error of a release says that the lock is not the client's.
func DeniesHold(text string) bool {
	return slices.ContainsFunc([]string{"notheld", "notowner", "notlockowner", "notpermitowner", "notlocked",
		"notholder"}, func(word string) bool {
		return strings.Contains(Plain(text), word)
	})
}

// endingWords are how an op ended, in words.
var endingWords = [...]string{EndedOK: "ok", EndedFail: "failed", EndedRefused: "refused", EndedUnknown: "unknown",
	EndedNotYet: "begins"}

// String is the meaning as people name it.
func (m Meaning) String() string {
	for name, is := range meaningOf {
		if is == m {
			return name
		}
	}
	return "nothing"
}
