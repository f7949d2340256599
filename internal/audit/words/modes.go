package words

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A column may say that a hold of a reader-writer lock is shared. Such holds are not judged, so a
// line of one is refused. A word that nobody knows is refused, too: the hold may be shared.

// sharedModes are words for a hold that does not exclude another one of its own mode, and
// exclusiveModes for one that does, in the form that plain gives them and without "lock" at their
// end. PostgreSQL's, MySQL's and those of SQL Server are among them.
var (
	sharedModes = []string{"shared", "share", "sh", "s", "read", "reader", "rd", "r", "readonly", "accessshare", "rowshare",
		"rowexclusive", "is", "ix", "intentionshared", "intentionexclusive", "sharedread", "sharedwrite", "sharedhighprio", "schs"}
	exclusiveModes = []string{"exclusive", "excl", "ex", "x", "write", "writer", "wr", "w", "readwrite", "rw", "update", "u",
		"accessexclusive", "sharerowexclusive", "shareupdateexclusive", "six", "schm"}
)

// yesNo are the words for yes and no, in the form that plain gives them.
var yesNo = map[string]bool{"true": true, "t": true, "yes": true, "y": true, "1": true,
	"false": false, "f": false, "no": false, "n": false, "0": false}

var (
	// errSharedMode is ErrShared where a column has told it.
	errSharedMode  = fmt.Errorf("%w. If this column tells something else: --map mode=-", ErrShared)
	errUnknownMode = errors.New("nobody knows whether a hold of this mode is shared, and shared holds are not judged. " +
		"If it is not, or this column tells something else: --map mode=-")
)

// sharing reports whether a word in a column of modes says that a hold is shared, and whether its
// meaning is known.
func sharing(column, word string) (shared, known bool) {
	w := Plain(word)
	if short := strings.TrimSuffix(w, "lock"); short != "" {
		w = short
	}
	yes, answer := yesNo[w]
	switch name := lastName(column); {
	case w == "":
		return false, true
	case answer && name == "shared":
		return yes, true
	case answer && name == "exclusive":
		return !yes, true
	case slices.Contains(sharedModes, w):
		return true, true
	}
	return false, slices.Contains(exclusiveModes, w)
}

// judges returns an error if holds of a mode are not judged.
func (r *Reader) judges(mode string) error {
	switch shared, known := sharing(r.Columns.Chosen[fieldMode], mode); {
	case shared:
		return errSharedMode
	case !known:
		return errUnknownMode
	}
	return nil
}

// modeToo are columns that may also hold something else. They count if all their words are modes.
var modeToo = []string{"type", "kind", "access", "accesstype", "locktype", "lockkind", "rw"}

// mode chooses the column of modes among those with a usual name and those that may also be one: of
// several the first one that says that a hold is shared.
func (g *Columns) mode(named []string) {
	for _, c := range g.log.Names {
		if slices.Contains(modeToo, lastName(c)) && !slices.Contains(g.Chosen[:], c) {
			if _, known := g.modes(c); known {
				named = append(named, c)
			}
		}
	}
	if len(named) == 0 {
		return
	}
	g.Chosen[fieldMode] = named[0]
	for _, c := range named {
		if shared, _ := g.modes(c); shared {
			g.Chosen[fieldMode] = c
			return
		}
	}
}

// modes reports whether a column says of some line about the lock that its hold is shared, and
// whether all that it says of such lines is known.
func (g *Columns) modes(column string) (shared, known bool) {
	some, strange := false, false
	for _, line := range g.log.Lines {
		if text := line[column]; text != "" && (g.whole || slices.Contains(ofLock, g.words.of(line[g.Chosen[FieldEvent]]))) {
			is, knows := sharing(column, text)
			some, shared, strange = true, shared || is, strange || !knows
		}
	}
	return shared, some && !strange
}
