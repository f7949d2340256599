package audit

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/history"
)

// An audit log tells one thing a line: when, who, what, of which lock, with which token. A line is an instant, unless the log also has
// the end. An acquire that is asked on one line and granted on another lasts from the one to the other.

// entry is one line of an audit log.
type entry struct {
	at, end    int64 // ns since 1970
	token      int64
	line       int32
	key, owner int32
	means      meaning
	ending     ending
}

// errNoText: two names that differ in such bytes look alike, and JSON makes one of them.
var errNoText = errors.New("bytes that are no text in UTF-8: convert the log first, such as with iconv -f latin1 -t utf-8")

// lineReader understands the lines of an audit log.
type lineReader struct {
	stamps stamper
	words  vocabulary
}

func newLineReader(o Options) (r lineReader, err error) {
	if r.stamps, err = newStamper(o.TimeFormat); err != nil {
		return r, err
	}
	r.words, err = newVocabulary(o.Events)
	return r, err
}

type auditReader struct {
	lineReader
	log     *log
	rows    rows
	columns *guesser
	entries []entry
	granted bool // some line says "granted", so "acquire" means that it was asked
}

func readAudit(l *log, in *bufio.Reader, format Format, o Options) error {
	l.what = "audit log"
	lines, err := newLineReader(o)
	if err != nil {
		return err
	}
	r := &auditReader{lineReader: lines, log: l, granted: o.asked}
	r.columns = &guesser{stamps: r.stamps, words: r.words}
	if r.columns.named, err = explicit(o.Map); err != nil {
		return err
	}
	if r.rows, err = newRows(in, l.file, format, o, r.columns); err != nil {
		return err
	}
	for {
		one, err := r.rows.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.add(&one)
		}
		if err != nil {
			return err
		}
	}
	if err := r.columns.tell(l, r.rows); err != nil {
		return err
	}
	return r.ops()
}

// newRows opens a log of any form, and finds its columns.
func newRows(in *bufio.Reader, file string, format Format, o Options, g *guesser) (rows, error) {
	switch format {
	case CSV:
		return newCSV(in, file, g)
	case Text:
		return newPattern(in, file, o.Pattern, o.SkipUnmatched, g)
	}
	head, _ := in.Peek(in.Size())
	if err := g.choose(sampleJSON(head)); err != nil {
		return nil, &history.SyntaxError{File: file, Line: 1, Err: err}
	}
	return &jsonRows{forms: newForms(in, file, false), named: g.chosen}, nil
}

// add reads one line.
func (r *auditReader) add(one *row) error {
	wrong := func(f field, err error) error {
		near := one.text[f]
		if near == "" {
			near = strings.Join(slices.DeleteFunc(slices.Clone(one.text[:]), func(s string) bool { return s == "" }), " ")
		}
		return &history.SyntaxError{File: r.log.file, Line: one.line, Column: one.columns[f], Near: excerpt(near), Err: err}
	}
	for f, text := range one.text {
		if strings.ContainsRune(text, utf8.RuneError) {
			return wrong(field(f), errNoText)
		}
	}
	for _, f := range [...]field{fieldTime, fieldEvent, fieldClient} {
		if one.text[f] == "" {
			return wrong(f, r.columns.missing(f))
		}
	}
	e, f, err := r.understand(&one.text)
	switch {
	case e.means == ignore:
		return nil
	case err != nil:
		return wrong(f, err)
	}
	r.stamps.grain.add(e.at)
	r.stamps.grain.add(e.end)
	r.granted = r.granted || e.means == grant
	e.line = int32(min(one.line, math.MaxInt32))
	e.key, e.owner = r.log.keys.id(cmp.Or(one.text[fieldKey], defaultKey)), r.log.owners.id(one.text[fieldClient])
	r.entries = append(r.entries, e)
	return nil
}

// understand reads a line, but for its key and client; of an ignored one, only that it is ignored.
// With an error it returns the field that is wrong.
func (r *lineReader) understand(text *[fieldCount]string) (e entry, wrong field, err error) {
	switch e.means = r.words.of(text[fieldEvent]); e.means {
	case ignore:
		return e, 0, nil
	case unknown:
		return e, fieldEvent, &UnknownWord{Word: text[fieldEvent]}
	case shared:
		return e, fieldEvent, errShared
	}
	if e.at, e.end, wrong, err = r.stamps.interval(text); err != nil {
		return e, wrong, err
	}
	if token := text[fieldToken]; token != "" && token != "-" {
		number, err := strconv.ParseInt(token, 10, 64)
		if err != nil || number < 0 || number == math.MaxInt64 {
			return e, fieldToken, errors.New("a fencing token is a whole number, 0 or more")
		}
		e.token = ticket(number)
	}
	if e.ending = endingOf(text[fieldResult]); e.ending == endedSomehow {
		return e, fieldResult, errors.New("nobody knows this result: want ok, failed or unknown, or words such as granted, denied, timeout")
	}
	return e, 0, nil
}

// ops turns the lines, in order of time, into ops.
func (r *auditReader) ops() error {
	if len(r.entries) == 0 {
		return nil
	}
	r.dropNoughts()
	slices.SortStableFunc(r.entries, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	zero := r.entries[0].at
	if last := r.entries[len(r.entries)-1].at; last-zero < 0 || last-zero > math.MaxInt64/8 {
		return fmt.Errorf("%s: its times are more than %d years apart: see --time-format", r.log.file, math.MaxInt64/8/int64(365*24*3600*1e9))
	}
	r.log.zero, r.log.hasZero, r.log.grain, r.log.zoneless = zero, true, r.stamps.grain, r.stamps.zoneless
	if r.stamps.zone != nil {
		r.log.zone = r.stamps.zone
	}
	asked := map[place]int32{}
	for i := range r.entries {
		if err := r.op(&r.entries[i], asked, zero); err != nil {
			return err
		}
	}
	return nil
}

// op turns a line into an op, or into the answer of an acquire that its client has asked for.
func (r *auditReader) op(e *entry, asked map[place]int32, zero int64) error {
	if e.means == acquire && r.granted && e.ending == endedOK {
		e.means = request
	}
	at := place{e.key, e.owner}
	n, open := asked[at]
	o := op{inv: e.at - zero, ret: max(e.end, e.at) - zero, key: e.key, owner: e.owner, token: e.token, line: e.line, endLine: e.line}
	switch e.means {
	case request:
		if open {
			return nil // it may have been granted since the first time
		}
		o.kind, o.ret, o.token = history.Acquire, never, 0
		n, err := r.log.add(o)
		asked[at] = n
		return err
	case acquire, grant, busy:
		if open {
			delete(asked, at)
			if e.end > e.at && e.means != busy {
				r.log.ops[n].attempt = o.inv
			}
			e.answer(&r.log.ops[n], o.ret)
			r.log.ops[n].after = int32(len(r.log.ops))
			return nil
		}
	}
	e.answer(&o, o.ret)
	r.log.ledgered = r.log.ledgered || o.kind == history.Write
	_, err := r.log.add(o)
	return err
}

// dropNoughts takes the tokens of a key for none where all of them are 0: so a program logs a token that it does not have.
func (r *auditReader) dropNoughts() {
	counted := map[int32]bool{}
	for i := range r.entries {
		if e := &r.entries[i]; e.token > ticket(0) {
			counted[e.key] = true
		}
	}
	nought := 0
	for i := range r.entries {
		if e := &r.entries[i]; e.token == ticket(0) && !counted[e.key] {
			e.token = 0
			nought++
		}
	}
	if nought > 0 {
		r.log.notes = append(r.log.notes, "All tokens of a lock are 0, so they are taken for none.")
	}
}

// answer says what a line means for an op that ended at ret.
func (e *entry) answer(o *op, ret int64) {
	o.ret, o.endLine = ret, e.line
	o.outcome = outcomes[e.ending]
	failed := o.outcome == history.Fail
	switch e.means {
	case acquire, grant, request:
		o.kind, o.busy = history.Acquire, failed
		if o.outcome == history.OK {
			o.token = e.token
		}
	case busy:
		o.kind, o.outcome, o.busy = history.Acquire, history.Fail, true
	case release:
		o.kind, o.notHeld = history.Release, failed
	case notHeld:
		o.kind, o.outcome, o.notHeld = history.Release, history.Fail, true
	case renew:
		o.kind, o.notHeld = history.Renew, failed
	case lost:
		o.outcome = history.Lost
	case read:
		o.kind = history.Read
	case write:
		o.kind, o.refused = history.Write, e.ending == endedRefused
	case refused:
		o.kind, o.outcome, o.refused = history.Write, history.Fail, true
	}
}
