package watch

import (
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
)

// entry is a line of the log that may still matter.
type entry struct {
	audit.LineSummary
	number int64
	text   []byte
}

// key is what is kept of one lock.
type key struct {
	entries []entry
	// cut is the time (ns since 1970) up to which lines were forgotten; 0: none were.
	cut int64
	// judged is how many of the entries were judged last.
	judged int
	// open are the numbers of lines that leave it open who held it, and were told.
	open []int64
	// doubt says why a violation may have been missed, by the lines that were judged last.
	doubt string
}

// until is the key as far as a time.
func (k *key) until(t int64) *key {
	old := &key{}
	for _, e := range k.entries {
		if e.At <= t {
			old.entries = append(old.entries, e)
		}
	}
	return old
}

// forgot reports whether a line is about what was forgotten: about a time that
// was, or about a grant that none of the kept lines gives.
func (k *key) forgot(e *entry) bool {
	if k.cut == 0 {
		return false
	}
	if e.At <= k.cut {
		return true
	}
	if !e.Acts || e.Ends && e.Token == 0 {
		return false // a release under no grant changes nothing
	}
	highest := history.Token(0)
	for i := range k.entries {
		o := &k.entries[i]
		if o.Client == e.Client && (o.Holds || o.Renews) {
			return false
		}
		highest = max(highest, o.Token)
	}
	// a renewal shows a hold only of a client that has not given one up
	return e.Renews || e.Token != 0 && e.Token <= highest
}

// waited is how long a client waited for the grant of an entry that follows
// these; less than 0: they do not tell.
func (k *key) waited(e *entry) time.Duration {
	for i := len(k.entries) - 1; i >= 0; i-- {
		if o := &k.entries[i]; o.Client == e.Client && o.Asks {
			return time.Duration(e.End - o.At)
		} else if o.Client == e.Client {
			break
		}
	}
	if e.End > e.At {
		return time.Duration(e.End - e.At)
	}
	return -1
}
