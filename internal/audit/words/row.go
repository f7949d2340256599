package words

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// Row understands a row with all that may be wrong with it. Messages are those of Row.
func (w *Worker) Row(line int, starts *[FieldCount]int, messages func() []string) error {
	one := Row{Line: line, Columns: *starts, Messages: messages}
	for f, text := range w.Fields {
		one.Text[f] = string(text)
	}
	return w.Add(&one)
}

// gluedTime is a time behind something else: a line was cut, and another writer's line follows it.
var gluedTime = lazyregexp.New(`.\d{4}-\d\d-\d\d[T ]\d\d:\d\d`)

// Add reads one line.
func (w *Worker) Add(one *Row) error {
	wrong := func(f Field, err error) *history.SyntaxError {
		near := one.Text[f]
		if near == "" {
			near = strings.Join(slices.DeleteFunc(slices.Clone(one.Text[:]), func(s string) bool { return s == "" }),
				" ")
		}
		return &history.SyntaxError{File: w.file, Line: one.Line, Column: one.Columns[f], Near: remarks.Excerpt(near),
			Err: err}
	}
	if w.fileOf != nil {
		one.Text[FieldClient] = w.fileOf(one.Line)
	}
	if w.Whole {
		return w.hold(one, wrong)
	}
	word := one.Text[FieldEvent]
	means := w.words.of(word)
	switch means {
	case Ignore:
		return nil
	case unknown:
		var err error = &UnknownWord{Word: word}
		if word == "" {
			err = w.Columns.missing(FieldEvent)
		}
		if w.leaves(one, wrong(FieldEvent, err)) {
			return nil
		}
	}
	for f, text := range one.Text {
		if strings.ContainsRune(text, utf8.RuneError) {
			return wrong(Field(f), errNoText)
		}
	}
	for _, f := range [...]Field{FieldTime, FieldEvent, FieldClient} {
		if one.Text[f] == "" {
			return wrong(f, w.Columns.missing(f))
		}
	}
	e, f, err := w.Understand(&one.Text)
	switch {
	case e.Means == Ignore:
		return nil
	case err != nil && f == FieldTime && gluedTime().MatchString(one.Text[f]):
		w.Tear(one.Line, wrong(f, err))
		return nil
	case err != nil:
		return wrong(f, err)
	}
	e.Line = int32(min(one.Line, math.MaxInt32))
	w.named(one, &e)
	w.grants(&e, means, one.Text[fieldResult] != "")
	w.say(&e)
	return nil
}

// Some tables have a record for each run of a job, with the time at which it
// began and that at which it ended (--map begin=…,end=…). Its worker holds the
// job's lock from the one to the other, so a record is a grant and a release.

var errEndless = errors.New("no end: with --map begin=COLUMN each record is a whole hold, and needs --map end=COLUMN")

// hold understands a record that is a whole hold. One that has not ended is a grant.
func (w *Worker) hold(one *Row, wrong func(Field, error) *history.SyntaxError) error {
	if w.Columns.Chosen[FieldEnd] == "" {
		return wrong(FieldEnd, errEndless)
	}
	for _, f := range [...]Field{FieldTime, FieldClient} {
		if one.Text[f] == "" {
			return wrong(f, w.Columns.missing(f))
		}
	}
	is, ofEnd, err := w.Stamps.Interval(one.Text[FieldTime], one.Text[FieldEnd])
	if err != nil {
		return wrong(timeField(ofEnd), err)
	}
	if err := w.judges(one.Text[fieldMode]); err != nil {
		return wrong(fieldMode, err)
	}
	e := Event{Stamp: times.Stamp{At: is.At, End: is.At}, Line: int32(min(one.Line, math.MaxInt32)), Means: Grant}
	w.named(one, &e)
	w.say(&e)
	if one.Text[FieldEnd] != "" {
		e.At, e.End, e.Means = is.End, is.End, Release
		w.say(&e)
	}
	return nil
}
