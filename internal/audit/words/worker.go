package words

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/times"
)

// Worker understands rows. Several do so side by side, each with names of its own: events
// have the worker's numbers of keys and owners until the log takes them (Numbering).
type Worker struct {
	Reader
	file         string
	keys         Names
	owners       Names
	meanings     map[string]Meaning // of words that were met
	endings      map[string]Ending
	modes        map[string]bool    // whether they are certainly not shared
	Fields       [FieldCount][]byte // of the row that is looked at
	joined       []byte             // room for a name of two columns
	said         BlockResult
	toldK, toldO int // how many of its names the log knows
	most         int // events of a piece so far
}

// BlockResult is what one worker understood of a piece of a log.
type BlockResult struct {
	Events       []Event
	keys, owners []string // names that the worker had not met before, in their order
	anew         bool     // it has forgotten those from before
	Granted      bool     // some line says "granted"
	Told         bool     // some acquire says that it was granted
	Found        LineCounts
	Seen         times.Seen // what its times have shown
	Bare, Zoned  int32      // the first lines whose times have no zone, and have one
	Err          error
}

// LineCounts is what the lines of a log tell besides their events.
type LineCounts struct {
	Used     [FieldCount]string   // JSON: the member that was last read for each field
	Skipped  int                  // lines that the pattern does not match, or that are no records
	First    int                  // the first of them
	Headings remarks.Tally        // CSV: lines that name the columns again
	Cut      remarks.Tally        // records that are cut or torn
	Torn     *history.SyntaxError // the first of them
	Telling  remarks.Tally        // of those left out, lines that seem to tell of a lock
	Gaps     []int32              // the first of those lines
	Nameless remarks.Tally        // lines of events that name no lock
	Silent   remarks.Tally        // acquires that say nothing of how they ended, where others do
	Other    remarks.Tally        // lines whose event is not known, and that name no lock
	Strange  *history.SyntaxError // the first of those, or of such lines that seem to tell of a lock
}

// MostGaps is how many lines are remembered that are left out and seem to tell of a lock.
const MostGaps = 1 << 12

// tells notes that a line which is left out seems to tell of a lock.
func (f *LineCounts) tells(line int) {
	f.Telling.Add(int32(min(line, math.MaxInt32)))
	f.Gaps = []int32{f.Telling.First}
}

// Add adds what later lines tell.
func (f *LineCounts) Add(o *LineCounts) {
	for i, name := range o.Used {
		if name != "" {
			f.Used[i] = name
		}
	}
	if f.Skipped == 0 {
		f.First = o.First
	}
	f.Skipped += o.Skipped
	f.Headings.Join(o.Headings)
	f.Cut.Join(o.Cut)
	f.Telling.Join(o.Telling)
	f.Gaps = append(f.Gaps, o.Gaps[:min(len(o.Gaps), MostGaps-len(f.Gaps))]...)
	f.Nameless.Join(o.Nameless)
	f.Silent.Join(o.Silent)
	if f.Torn == nil {
		f.Torn = o.Torn
	}
	if f.Strange == nil {
		f.Strange = o.Strange
	}
	f.Other.Join(o.Other)
}

// mostWords is how many words of a column are remembered: a log may have words without end.
const mostWords = 1 << 12

// NewWorker returns a worker that has read nothing yet. It changes nothing of the reader.
func NewWorker(r Reader, file string) *Worker {
	return &Worker{Reader: r, file: file, keys: NewNames(), owners: NewNames(), meanings: map[string]Meaning{},
		endings: map[string]Ending{}, modes: map[string]bool{}}
}

// mostEvents is how many events are given on at a time, about.
const mostEvents = 1 << 12

// Full reports whether so many events were understood that they are to be given on.
func (w *Worker) Full() bool { return len(w.said.Events) >= mostEvents }

// Uses notes the member that a field was read from.
func (w *Worker) Uses(f Field, member string) { w.said.Found.Used[f] = member }

// forgetNames forgets the names that were met.
func (w *Worker) forgetNames() {
	w.keys, w.owners, w.toldK, w.toldO = NewNames(), NewNames(), 0, 0
}

// Gather returns what is said while some of the log is read.
func (w *Worker) Gather(read func() error) BlockResult {
	w.said = BlockResult{Events: make([]Event, 0, w.most)}
	w.Stamps.Zoneless, w.Stamps.Zoned = false, false
	if len(w.keys.List)+len(w.owners.List) > w.names { // a log may have names without end
		w.forgetNames()
		w.said.anew = true
	}
	w.said.Err = read()
	p := &w.said
	w.most = max(w.most, len(p.Events))
	p.keys, w.toldK = w.keys.List[w.toldK:], len(w.keys.List)
	p.owners, w.toldO = w.owners.List[w.toldO:], len(w.owners.List)
	p.Seen = w.Stamps.Seen
	return w.said
}

// Quick understands the row of the fields, if nothing is odd about it; else it
// says no, and nothing has happened.
func (w *Worker) Quick(line int) bool {
	f := &w.Fields
	if w.fileOf != nil {
		f[FieldClient] = []byte(w.fileOf(line))
	}
	if w.Whole || len(f[FieldTime]) == 0 || len(f[FieldEvent]) == 0 || len(f[FieldClient]) == 0 {
		return false
	}
	e := Event{Line: int32(min(line, math.MaxInt32))}
	var ok bool
	if e.Means, ok = w.meaning(f[FieldEvent]); !ok {
		return false
	}
	if e.Means == Ignore {
		return !slices.ContainsFunc(f[:], func(text []byte) bool { return !ascii(text) })
	}
	if e.At, ok = w.time(f[FieldTime]); !ok {
		return false
	}
	e.End = e.At
	if len(f[FieldEnd]) > 0 {
		if e.End, ok = w.time(f[FieldEnd]); !ok || e.End < e.At {
			return false
		}
	}
	if len(f[fieldMode]) > 0 && !w.excludes(f[fieldMode]) {
		return false
	}
	if e.Token, ok = quickToken(f[FieldToken]); !ok {
		return false
	}
	if e.Ending, ok = w.ending(f[fieldResult]); !ok || e.Ending == EndedNotYet || len(f[FieldError]) > 0 {
		return false
	}
	word := e.Means
	e.Means = word.inRecord(len(f[fieldResult]) > 0, w.Columns.told)
	if e.Key, ok = w.keys.quick(w.lock(f[FieldKey], f[FieldScope])); !ok {
		return false
	}
	if e.Owner, ok = w.owners.quick(w.both(f[FieldClient], f[FieldPart])); !ok {
		return false
	}
	if len(f[FieldKey]) == 0 {
		w.said.Found.Nameless.Add(e.Line)
	}
	w.grants(&e, word, len(f[fieldResult]) > 0)
	w.say(&e)
	return true
}

// grants notes an acquire that says how it ended, or one that does not where others do.
func (w *Worker) grants(e *Event, word Meaning, says bool) {
	switch {
	case word != Acquire || e.Ending != EndedOK:
	case says:
		w.said.Told = w.said.Told || e.Means == Acquire
	case w.Columns.told:
		w.said.Found.Silent.Add(e.Line)
	}
}

// both is the name of a client or a key, also of one that two columns tell. It is good until the
// next call.
func (w *Worker) both(first, second []byte) []byte {
	if len(second) == 0 {
		return first
	}
	w.joined = joined(w.joined[:0], first, second)
	return w.joined
}

// lock is the name of a lock, by its key and its scope; empty: the line names neither.
func (w *Worker) lock(key, scope []byte) []byte {
	if len(key) == 0 && len(scope) > 0 {
		key = []byte(DefaultKey)
	}
	return w.both(key, scope)
}

// Skip leaves a line out.
func (w *Worker) Skip(text []byte, line int) {
	left := LineCounts{Skipped: 1, First: line}
	if w.words.tellsOfLock(text) {
		left.tells(line)
	}
	w.said.Found.Add(&left)
}

// Head leaves a line out that names the columns again, as where one file follows another.
func (w *Worker) Head(line int) { w.said.Found.Headings.Add(int32(min(line, math.MaxInt32))) }

// Tear leaves a record out that is cut or torn. What it had to say is not known.
func (w *Worker) Tear(line int, wrong *history.SyntaxError) {
	left := LineCounts{Torn: wrong}
	left.tells(line)
	left.Cut = left.Telling
	w.said.Found.Add(&left)
}

// leaves reports whether a line is left out whose event is not known: it names no lock, and others
// do. Its text may tell of one all the same.
func (w *Worker) leaves(one *Row, err error) bool {
	lock := w.Columns.Chosen[FieldKey]
	wrong, ok := errors.AsType[*history.SyntaxError](err)
	if lock == "" || lock == NoColumn || one.Text[FieldKey] != "" || !ok {
		return false
	}
	texts := []string{one.Text[FieldEvent]}
	if one.Messages != nil {
		texts = append(texts, one.Messages()...)
	}
	left := LineCounts{Strange: wrong}
	if slices.ContainsFunc(texts, func(text string) bool { return w.words.tellsOfLock([]byte(text)) }) {
		left.tells(one.Line)
	} else {
		left.Other.Add(int32(min(one.Line, math.MaxInt32)))
	}
	w.said.Found.Add(&left)
	return true
}

// named are the numbers of a row's key and client.
func (w *Worker) named(one *Row, e *Event) {
	if one.Text[FieldKey] == "" {
		w.said.Found.Nameless.Add(e.Line)
	}
	e.Key = w.keys.ID(string(w.lock([]byte(one.Text[FieldKey]), []byte(one.Text[FieldScope]))))
	e.Owner = w.owners.ID(string(w.both([]byte(one.Text[FieldClient]), []byte(one.Text[FieldPart]))))
}

// say notes an event.
func (w *Worker) say(e *Event) {
	e.Fine = w.Stamps.Fine
	if w.Stamps.Zoneless && w.said.Bare == 0 {
		w.said.Bare = e.Line
	}
	if w.Stamps.Zoned && w.said.Zoned == 0 {
		w.said.Zoned = e.Line
	}
	w.said.Granted = w.said.Granted || e.Means == Grant
	w.said.Events = append(w.said.Events, *e)
}

// Tell notes what happened at an instant, for records that no row tells of.
func (w *Worker) Tell(line int, key, client string, means Meaning, at int64) {
	w.say(&Event{Stamp: times.Stamp{At: at, End: at}, Line: int32(min(line, math.MaxInt32)), Means: means,
		Key: w.keys.ID(key), Owner: w.owners.ID(client)})
}

// TellFailed is Tell for what was tried, and failed.
func (w *Worker) TellFailed(line int, key, client string, means Meaning, at int64) {
	w.Tell(line, key, client, means, at)
	w.said.Events[len(w.said.Events)-1].Ending = EndedFail
}

// Named are the key and the client of an event of this worker.
func (w *Worker) Named(e *Event) (key, client string) {
	return cmp.Or(w.keys.List[e.Key], DefaultKey), w.owners.List[e.Owner]
}

// meaning is that of a word, if it has one.
func (w *Worker) meaning(word []byte) (Meaning, bool) {
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
func (w *Worker) ending(word []byte) (Ending, bool) {
	if len(word) == 0 {
		return EndedOK, true
	}
	if e, ok := w.endings[string(word)]; ok {
		return e, true
	}
	e := w.words.ending(string(word))
	if e == EndedSomehow || !proper(word) {
		return e, false
	}
	if len(w.endings) < mostWords {
		w.endings[string(word)] = e
	}
	return e, true
}

// excludes reports whether a mode is certainly not a shared one.
func (w *Worker) excludes(mode []byte) bool {
	is, met := w.modes[string(mode)]
	if !met {
		if is = w.judges(string(mode)) == nil; len(w.modes) < mostWords {
			w.modes[string(mode)] = is
		}
	}
	return is
}

func (w *Worker) time(text []byte) (int64, bool) {
	if t, ok := w.Stamps.Quick(text); ok {
		return t, true
	}
	if !ascii(text) {
		return 0, false
	}
	t, err := w.Stamps.Parse(string(text))
	return t, err == nil
}

// quickToken reads a token of digits, or none.
func quickToken(text []byte) (history.Token, bool) {
	if len(text) == 0 || len(text) == 1 && text[0] == '-' {
		return 0, true
	}
	n, ok := times.Digits(text)
	return history.TokenOf(n), ok
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
