package audit

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/times"
	"github.com/lockchaos/lockchaos/history"
)

// worker understands the blocks that it is given. Several do so side by side, each with names of its own: entries have the worker's numbers of
// keys and owners until the log takes them (auditReader.take).
type worker struct {
	lineReader
	file         string
	columns      *guesser // which it only reads
	keys         names
	owners       names
	meanings     map[string]meaning // of words that were met
	endings      map[string]ending
	fields       [fieldCount][]byte // of the row that is looked at
	joined       []byte             // room for a client of two columns
	parsed       parsed
	split        splitter
	toldK, toldO int // how many of its names the log knows
	most         int // entries of a block so far
}

// parsed is what a block says.
type parsed struct {
	entries      []entry
	keys, owners []string // names that the worker had not met before, in their order
	anew         bool     // it has forgotten those from before
	granted      bool     // some line says "granted"
	found        found
	seen         times.Seen // what its times have shown
	bare, zoned  int32      // the first lines whose times have no zone, and have one
	rest         int        // how many bytes of the block were not understood, with errCut
	err          error
}

// found is what the lines of a log tell besides their entries.
type found struct {
	used    [fieldCount]string   // JSON: the member that was last read for each field
	skipped int                  // lines that the pattern does not match, or that are no records
	first   int                  // the first of them
	telling remarks.Tally        // of those, lines that tell of a lock
	other   int                  // lines whose event is not known, and that name no lock
	strange *history.SyntaxError // the first of them
}

func (f *found) add(o *found) {
	for i, name := range o.used {
		if name != "" {
			f.used[i] = name
		}
	}
	if f.skipped == 0 {
		f.first = o.first
	}
	f.skipped += o.skipped
	if f.telling.N == 0 {
		f.telling.First = o.telling.First
	}
	f.telling.N += o.telling.N
	if f.strange == nil {
		f.strange = o.strange
	}
	f.other += o.other
}

// mostWords is how many words of a column are remembered: a log may have words without end.
const mostWords = 1 << 12

func newWorker(r lineReader, file string, g *guesser, s splitter) *worker {
	return &worker{lineReader: r, file: file, columns: g, keys: newNames(), owners: newNames(), meanings: map[string]meaning{}, endings: map[string]ending{}, split: s}
}

// block understands a block.
func (w *worker) block(b block) parsed {
	return w.gather(func() error { return w.split.split(w, b) })
}

// forgetNames forgets the names that were met.
func (w *worker) forgetNames() {
	w.keys, w.owners, w.toldK, w.toldO = newNames(), newNames(), 0, 0
}

// gather returns what is said while some of the log is read.
func (w *worker) gather(read func() error) parsed {
	w.parsed = parsed{entries: make([]entry, 0, w.most)}
	w.stamps.Zoneless, w.stamps.Zoned = false, false
	if len(w.keys.list)+len(w.owners.list) > w.names { // a log may have names without end
		w.forgetNames()
		w.parsed.anew = true
	}
	w.parsed.err = read()
	p := &w.parsed
	w.most = max(w.most, len(p.entries))
	p.keys, w.toldK = w.keys.list[w.toldK:], len(w.keys.list)
	p.owners, w.toldO = w.owners.list[w.toldO:], len(w.owners.list)
	p.seen = w.stamps.Seen
	return w.parsed
}

// quick understands the row of the fields, if nothing is odd about it; else it says no, and nothing has happened.
func (w *worker) quick(line int) bool {
	f := &w.fields
	if w.fileOf != nil {
		f[fieldClient] = []byte(w.fileOf(line))
	}
	if w.whole || len(f[fieldTime]) == 0 || len(f[fieldEvent]) == 0 || len(f[fieldClient]) == 0 {
		return false
	}
	e := entry{line: int32(min(line, math.MaxInt32))}
	var ok bool
	if e.means, ok = w.meaning(f[fieldEvent]); !ok {
		return false
	}
	if e.means == ignore {
		return !slices.ContainsFunc(f[:], func(text []byte) bool { return !ascii(text) })
	}
	if e.At, ok = w.time(f[fieldTime]); !ok {
		return false
	}
	e.End = e.At
	if len(f[fieldEnd]) > 0 {
		if e.End, ok = w.time(f[fieldEnd]); !ok || e.End < e.At {
			return false
		}
	}
	if e.token, ok = quickToken(f[fieldToken]); !ok {
		return false
	}
	if e.ending, ok = w.ending(f[fieldResult]); !ok {
		return false
	}
	key := f[fieldKey]
	if len(key) == 0 {
		key = []byte(defaultKey)
	}
	if e.key, ok = w.keys.quick(key); !ok {
		return false
	}
	if e.owner, ok = w.owners.quick(w.client(f[fieldClient], f[fieldPart])); !ok {
		return false
	}
	w.say(&e)
	return true
}

// client is the name of a client, also of one that two columns tell. It is good until the next call.
func (w *worker) client(first, second []byte) []byte {
	if len(second) == 0 {
		return first
	}
	w.joined = joinedClient(w.joined[:0], first, second)
	return w.joined
}

// tellsOfLock matches a line of text that tells of a lock.
var tellsOfLock = regexp.MustCompile(`(?i)\b(acquired|granted|released|locked|unlocked)\b`)

// skip leaves a line out.
func (w *worker) skip(text []byte, line int) {
	left := found{skipped: 1, first: line}
	if tellsOfLock.Match(text) {
		left.telling.Add(int32(min(line, math.MaxInt32)))
	}
	w.parsed.found.add(&left)
}

// leaves reports whether a line is left out whose event is not known: it names no lock, and others do.
func (w *worker) leaves(one *row, err error) bool {
	lock := w.columns.chosen[fieldKey]
	wrong, ok := errors.AsType[*history.SyntaxError](err)
	if lock == "" || lock == noColumn || one.text[fieldKey] != "" || !ok {
		return false
	}
	w.parsed.found.add(&found{other: 1, strange: wrong})
	return true
}

// say notes an entry.
func (w *worker) say(e *entry) {
	w.stamps.Grain.Add(e.At)
	w.stamps.Grain.Add(e.End)
	if w.stamps.Zoneless && w.parsed.bare == 0 {
		w.parsed.bare = e.line
	}
	if w.stamps.Zoned && w.parsed.zoned == 0 {
		w.parsed.zoned = e.line
	}
	w.parsed.granted = w.parsed.granted || e.means == grant
	w.parsed.entries = append(w.parsed.entries, *e)
}

// meaning is that of a word, if it has one.
func (w *worker) meaning(word []byte) (meaning, bool) {
	if m, ok := w.meanings[string(word)]; ok {
		return m, true
	}
	m := w.words.of(string(word))
	if m == unknown || m == shared || !proper(word) {
		return m, false
	}
	if len(w.meanings) < mostWords {
		w.meanings[string(word)] = m
	}
	return m, true
}

// ending is that of a word, if it has one.
func (w *worker) ending(word []byte) (ending, bool) {
	if len(word) == 0 {
		return endedOK, true
	}
	if e, ok := w.endings[string(word)]; ok {
		return e, true
	}
	e := w.words.ending(string(word))
	if e == endedSomehow || !proper(word) {
		return e, false
	}
	if len(w.endings) < mostWords {
		w.endings[string(word)] = e
	}
	return e, true
}

func (w *worker) time(text []byte) (int64, bool) {
	if t, ok := w.stamps.Quick(text); ok {
		return t, true
	}
	if !ascii(text) {
		return 0, false
	}
	t, err := w.stamps.Parse(string(text))
	return t, err == nil
}

// quickToken reads a token of digits, or none.
func quickToken(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) == 1 && text[0] == '-' {
		return 0, true
	}
	n, ok := times.Digits(text)
	return ticket(n), ok
}

func ascii(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// proper reports whether bytes are text: see errNoText.
func proper(text []byte) bool {
	return ascii(text) || utf8.Valid(text) && !bytes.ContainsRune(text, utf8.RuneError)
}
