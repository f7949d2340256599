package times

import (
	"fmt"
	"time"
)

// Some logs write no year, and others no date at all. The first line's is given
// or taken from the file, and time goes on from there: where the times of day
// go back by half a day it is the next day.

// cycle is how often the times of a log come again.
type cycle uint8

const (
	never_ cycle = iota
	yearly
	daily
)

// calendar is what is known of the dates of a log.
type calendar struct {
	first time.Time // the day of the first line; zero: not known
}

var errDateless = &openTime{"a time without its date or year: say when the log begins with --date 2026-11-26"}

// newCalendar takes the date that the user gave, or else that of the file.
func newCalendar(given, file string) (c calendar, err error) {
	if given == "" {
		given = file
	}
	if given == "" {
		return c, nil
	}
	if c.first, err = time.Parse(time.DateOnly, given); err != nil || c.first.Year() < 1700 || c.first.Year() > 2200 {
		return c, fmt.Errorf("the date %q: want one such as 2026-11-26", given)
	}
	return c, nil
}

// cycle is how often the times of a layout come again.
func (l *layout) cycle() cycle {
	switch {
	case l.year:
		return never_
	case l.day:
		return yearly
	}
	return daily
}

// complete gives a time the year or date that its layout lacks.
func (c *calendar) complete(l *layout, t time.Time) (time.Time, error) {
	if l.year {
		return t, nil
	}
	if c.first.IsZero() {
		return t, errDateless
	}
	year, month, day := c.first.Date()
	if l.day {
		month, day = t.Month(), t.Day()
	}
	full := time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	if full.Day() != day {
		return t, &openTime{fmt.Sprintf("%d has no %d %s: say when the log begins with --date", year, day, month)}
	}
	return full, nil
}

// Returns reports whether times come again.
func (c cycle) Returns() bool { return c != never_ }

// String is what the times lack.
func (c cycle) String() string {
	if c == yearly {
		return "year"
	}
	return "date"
}

// turned is a time so many cycles later.
func (c cycle) turned(at int64, times int) int64 {
	switch {
	case times == 0 || c == never_:
		return at
	case c == daily:
		return at + int64(times)*int64(24*time.Hour)
	}
	return time.Unix(0, at).UTC().AddDate(times, 0, 0).UnixNano()
}

// half is how far times go back, at least, where the next cycle begins.
func (c cycle) half() int64 {
	if c == daily {
		return int64(12 * time.Hour)
	}
	return int64(183 * 24 * time.Hour)
}
