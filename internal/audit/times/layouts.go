package times

import (
	"sync"
	"time"
)

// layout is a way to write a time, as package time has it.
type layout struct {
	text      string
	year, day bool // it tells them
	zoned     bool // it tells the zone,
	named     bool // by a name
}

// layoutOf finds out what a layout tells.
func layoutOf(text string) *layout {
	zone := time.FixedZone("ABC", 3600)
	base := time.Date(2001, 2, 3, 4, 5, 6, 0, zone)
	differs := func(t time.Time) bool { return t.Format(text) != base.Format(text) }
	at := func(zone *time.Location) time.Time { return time.Date(2001, 2, 3, 4, 5, 6, 0, zone) }
	return &layout{text: text,
		year:  differs(base.AddDate(28, 0, 0)), // with the same days of the week
		day:   differs(base.AddDate(0, 0, 7)),
		zoned: differs(at(time.FixedZone("XYZ", 7200))),
		named: differs(at(time.FixedZone("XYZ", 3600))),
	}
}

// layouts are tried on what is no number.
var layouts = sync.OnceValue(func() (all []*layout) {
	for _, text := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999 -0700", "2006-01-02 15:04:05.999999999",
		"2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z0700",
		"2006-01-02 15:04:05.999999999Z07",
		"2006-01-02 15:04:05.999999999 -07:00", "2006-01-02 15:04:05.999999999 MST",
		"2006-01-02T15:04:05.999999999 MST", "2006-01-02 15:04:05.999999999 -0700 MST",
		"2006/01/02 15:04:05.999999999", "02/Jan/2006:15:04:05 -0700", "20060102T150405Z0700",
		time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC, time.UnixDate, time.RubyDate,
		"Mon 02 Jan 2006 15:04:05 MST",
		"02 Jan 2006 15:04:05.999999999", "02-Jan-2006 15:04:05.999999999", "Jan 2, 2006 3:04:05 PM",
		"1/2/06 3:04:05 PM MST",
		"15:04:05.999999999", "Jan _2 15:04:05.999999999", "0102 15:04:05.999999999",
	} {
		all = append(all, layoutOf(text))
	}
	return all
})
