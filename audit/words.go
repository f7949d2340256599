package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

// meaning is what the word of an event tells.
type meaning uint8

const (
	unknown meaning = iota
	// acquire: asked for, where the log also has grants; else granted.
	acquire
	request
	grant
	busy
	release
	notHeld
	renew
	lost
	read
	write
	refused
	ignore
	// shared: of a reader-writer lock, which is refused.
	shared
)

// Meanings lists the meanings that a word of an event can be given.
var Meanings = []string{"acquire", "request", "grant", "busy", "release", "not-held", "renew", "lost", "read", "write", "refused", "ignore"}

var meaningOf = map[string]meaning{"acquire": acquire, "request": request, "grant": grant, "busy": busy, "release": release, "not-held": notHeld,
	"renew": renew, "lost": lost, "read": read, "write": write, "refused": refused, "ignore": ignore}

// usual is what words mean where nobody says so, in the form that plain gives them.
var usual = map[string]meaning{
	"acquire": acquire, "lock": acquire, "take": acquire,
	"request": request, "requested": request, "acquiring": request, "wait": request, "waiting": request, "try": request, "attempt": request, "enqueue": request,
	"grant": grant, "granted": grant, "acquired": grant, "locked": grant, "obtained": grant, "got": grant, "taken": grant,
	"busy": busy, "denied": busy, "notacquired": busy, "acquirefailed": busy, "timeout": busy, "timedout": busy,
	"release": release, "released": release, "unlock": release, "unlocked": release, "free": release, "freed": release,
	"notheld": notHeld, "notowner": notHeld, "notlockowner": notHeld, "notpermitowner": notHeld, "releasefailed": notHeld,
	"renew": renew, "renewed": renew, "refresh": renew, "refreshed": renew, "extend": renew, "extended": renew, "keepalive": renew, "heartbeat": renew,
	"lost": lost, "expired": lost, "expire": lost, "revoked": lost, "evicted": lost,
	"read": read, "get": read,
	"write": write, "wrote": write, "written": write, "update": write, "updated": write, "put": write, "set": write,
	"refused": refused, "rejected": refused, "fenced": refused, "writerefused": refused, "writerejected": refused,
	"readlock": shared, "rlock": shared, "acquireread": shared, "acquireshared": shared, "sharedlock": shared, "lockshared": shared, "writelock": shared,
	"acquirewrite": shared, "readunlock": shared, "runlock": shared, "releaseread": shared, "releaseshared": shared, "releasewrite": shared,
}

// kinds are the ops that words mean where ops are told and not logged.
var kinds = map[meaning]history.Kind{acquire: history.Acquire, request: history.Acquire, grant: history.Acquire, release: history.Release, renew: history.Renew,
	read: history.Read, write: history.Write}

// opOf is the op that a tool's word means; KindNone: nobody knows. Shared locks are an error.
func opOf(word string) (history.Kind, error) {
	meant := usually(word)
	if meant == shared {
		return history.KindNone, errShared
	}
	return kinds[meant], nil
}

// plain is a word without what people write it with: letters and digits in lower case.
func plain(word string) string {
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

// usually is what a word means where nobody says so. "lock" around a word adds nothing: lock.acquired, release_lock.
func usually(word string) meaning {
	w := plain(word)
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

var errShared = errors.New("a reader-writer lock: shared holds are not judged. Give each mode a key of its own, or leave these lines out")

// UnknownWord is a word of the event column that means nothing here.
type UnknownWord struct{ Word string }

func (u *UnknownWord) Error() string {
	return "nobody knows what this event means: say so with --events, as one of " + strings.Join(Meanings, ", ")
}

// UnknownResult is a word of the result column that means nothing here.
type UnknownResult struct{ Word string }

func (u *UnknownResult) Error() string {
	return "nobody knows this result: say with --results whether it means " + strings.Join(Results, ", ")
}

// vocabulary is what the words of one log mean.
type vocabulary struct {
	words   map[string]meaning
	results map[string]ending
}

// Results lists how an op can have ended, by the words of a result.
var Results = []string{"ok", "fail", "refused", "unknown"}

var resultOf = map[string]ending{"ok": endedOK, "fail": endedFail, "refused": endedRefused, "unknown": endedUnknown}

func newVocabulary(o Options) (vocabulary, error) {
	v := vocabulary{map[string]meaning{}, map[string]ending{}}
	for name, words := range o.Results {
		how, ok := resultOf[name]
		if !ok {
			return v, fmt.Errorf("a result can't mean %q; it can mean %s", name, strings.Join(Results, ", "))
		}
		for _, word := range words {
			if other, twice := v.results[word]; twice && other != how {
				return v, fmt.Errorf("the result %q is given two meanings", word)
			}
			v.results[word] = how
		}
	}
	for name, words := range o.Events {
		m, ok := meaningOf[name]
		if !ok {
			return v, fmt.Errorf("an event can't mean %q; it can mean %s", name, strings.Join(Meanings, ", "))
		}
		for _, word := range words {
			if other, twice := v.words[word]; twice && other != m {
				return v, fmt.Errorf("the event %q is given two meanings", word)
			}
			v.words[word] = m
		}
	}
	return v, nil
}

// of is the meaning of a word, unknown if it has none.
func (v vocabulary) of(word string) meaning {
	if m, ok := v.words[word]; ok {
		return m
	}
	m := usually(word)
	if rest, ok := v.words["*"]; ok && m == unknown {
		return rest
	}
	return m
}

// ending is what a word says of how an op ended.
func (v vocabulary) ending(word string) ending {
	if how, ok := v.results[word]; ok {
		return how
	}
	return endingOf(word)
}

// ending is how an op ended, by the result column or an answer.
type ending uint8

const (
	endedOK ending = iota
	endedFail
	endedRefused // by a fence
	endedUnknown
	endedSomehow // a word that nobody knows
)

// outcomes are what an op's completion is, by how it ended.
var outcomes = [...]history.Type{endedOK: history.OK, endedFail: history.Fail, endedRefused: history.Fail, endedUnknown: history.Info}

// endings are the words for how an op ended, in the form that plain gives them.
var endings = map[string]ending{
	"": endedOK, "ok": endedOK, "success": endedOK, "succeeded": endedOK, "true": endedOK, "1": endedOK, "granted": endedOK, "accepted": endedOK, "200": endedOK,
	"acquired": endedOK, "released": endedOK, "done": endedOK, "locked": endedOK, "unlocked": endedOK,
	"fail": endedFail, "failed": endedFail, "failure": endedFail, "false": endedFail, "0": endedFail, "denied": endedFail, "busy": endedFail, "conflict": endedFail,
	"refused": endedRefused, "rejected": endedRefused, "fenced": endedRefused, "stale": endedRefused, "notheld": endedFail, "notowner": endedFail, "notlockowner": endedFail,
	"info": endedUnknown, "unknown": endedUnknown, "timeout": endedUnknown, "timedout": endedUnknown, "error": endedUnknown, "indeterminate": endedUnknown,
}

func endingOf(word string) ending {
	if e, ok := endings[plain(word)]; ok {
		return e
	}
	return endedSomehow
}

// deniesHold tells whether the error of a release says that the lock is not the client's.
func deniesHold(text string) bool {
	return slices.ContainsFunc([]string{"notheld", "notowner", "notlockowner", "notpermitowner", "notlocked", "notholder"}, func(word string) bool {
		return strings.Contains(plain(text), word)
	})
}
