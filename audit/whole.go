package audit

import (
	"cmp"
	"errors"
	"math"

	"github.com/lockchaos/lockchaos/audit/times"
)

// Some tables have a record for each run of a job, with the time at which it began and that at which it ended (--map begin=…,end=…). Its worker holds the
// job's lock from the one to the other, so a record is a grant and a release.

var errEndless = errors.New("no end: with --map begin=COLUMN each record is a whole hold, and needs --map end=COLUMN")

// hold understands a record that is a whole hold. One that has not ended is a grant.
func (w *worker) hold(one *row, wrong func(field, error) error) error {
	if w.columns.chosen[fieldEnd] == "" {
		return wrong(fieldEnd, errEndless)
	}
	for _, f := range [...]field{fieldTime, fieldClient} {
		if one.text[f] == "" {
			return wrong(f, w.columns.missing(f))
		}
	}
	is, ofEnd, err := w.stamps.Interval(one.text[fieldTime], one.text[fieldEnd])
	if err != nil {
		return wrong(timeField(ofEnd), err)
	}
	e := entry{Stamp: times.Stamp{At: is.At, End: is.At}, line: int32(min(one.line, math.MaxInt32)), means: grant}
	e.key = w.keys.id(cmp.Or(one.text[fieldKey], defaultKey))
	e.owner = w.owners.id(string(w.client([]byte(one.text[fieldClient]), []byte(one.text[fieldPart]))))
	w.say(&e)
	if one.text[fieldEnd] != "" {
		e.At, e.End, e.means = is.End, is.End, release
		w.say(&e)
	}
	return nil
}
