// Package times reads the times of a log: stamps in all usual forms, their
// zones, the dates that they lack, and what the clock that wrote them did.
package times

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Reader reads the times of a log as ns since 1970.
type Reader struct {
	format *layout  // nil: by what the text looks like
	unit   int64    // ns of a number's unit; 0: by its size
	number bool     // only numbers
	recent *layout  // of those that are tried, the one that fitted last
	zones           // what is known of zones
	date   calendar // what is known of the date
	Seen
	Coarsest Grain    // that the format of the times leaves possible
	Fine     bool     // the last time that was read is written with a fraction of a second
	day      [10]byte // the last one that quick read,
	midnight int64    // and when it began (s since 1970)
}

// Never is when what did not happen happens.
const Never = math.MaxInt64

// Seen is what the times that were read have shown.
type Seen struct {
	Zone            *time.Location // of the first time that was read as a date; nil: there was none
	Zoneless, Zoned bool           // some had no zone; some are certain
	Cycle           cycle          // how often they come again
}

// Add adds what other times of the log have shown.
func (s *Seen) Add(more Seen) {
	if s.Zone == nil {
		s.Zone = more.Zone
	}
	s.Zoneless, s.Zoned = s.Zoneless || more.Zoneless, s.Zoned || more.Zoned
	s.Cycle = max(s.Cycle, more.Cycle)
}

// Stamp is when a line begins and ends, in ns since 1970. Of most lines both are the same.
type Stamp struct{ At, End int64 }

// Grain is how fine stamps are, by those that were read: the greater, the coarser.
type Grain uint8

// Fractions of a second are taken at their word.
const (
	Exact Grain = iota
	Seconds
	Minutes
)

var sizes = [...]time.Duration{Exact: 0, Seconds: time.Second, Minutes: time.Minute}

// Size is how long the time is that a stamp stands for; 0: none at all.
func (g Grain) Size() time.Duration { return sizes[g] }

// Cut is the most (ns) by which an instant may lie after its stamp.
func (g Grain) Cut() int64 { return max(0, int64(g.Size())-1) }

// Add takes another stamp.
func (g *Grain) Add(ns int64) {
	for *g != Exact && ns%int64(g.Size()) != 0 {
		*g--
	}
}

// String is the unit of the stamps.
func (g Grain) String() string { return [...]string{"nanosecond", "second", "minute"}[g] }

var unixUnits = map[string]int64{"unix": 1e9, "unix-ms": 1e6, "unix-us": 1e3, "unix-ns": 1}

// Options says how times are to be read.
type Options struct {
	// Format is "auto", "rfc3339", "unix", "unix-ms", "unix-us", "unix-ns", or
	// a layout of package time.
	Format string
	// Timezone is the zone of times that have none, as the time zone database names
	// it. Zones are the offsets of zones by the names that a log has for them.
	Timezone string
	Zones    map[string]string
	// Date is the day of the first line, for times without a year or date.
	// FileDate is the same where nobody says it: the file's own.
	Date, FileDate string
}

// NewReader returns a reader that has read nothing yet.
func NewReader(o Options) (s Reader, err error) {
	if s, err = ofFormat(o.Format); err != nil {
		return s, err
	}
	if s.zones, err = newZones(o.Timezone, o.Zones); err != nil {
		return s, err
	}
	s.date, err = newCalendar(o.Date, o.FileDate)
	return s, err
}

// Local reports whether it is known where times without a zone are from.
func (s *Reader) Local() bool { return s.where != nil }

func ofFormat(format string) (Reader, error) {
	switch unit := unixUnits[format]; {
	case format == "" || format == "auto":
		return Reader{Coarsest: Seconds}, nil
	case unit != 0:
		return Reader{unit: unit, number: true, Coarsest: Seconds}, nil
	case format == "rfc3339":
		return Reader{format: layoutOf(time.RFC3339Nano), Coarsest: Seconds}, nil
	case strings.Contains(format, "05"):
		return Reader{format: layoutOf(format), Coarsest: Seconds}, nil
	case strings.Contains(format, "2006") || strings.Contains(format, "15"):
		return Reader{format: layoutOf(format), Coarsest: Minutes}, nil
	}
	return Reader{}, fmt.Errorf("unknown time format %q: auto, rfc3339, unix, unix-ms, unix-us, unix-ns, or a layout of Go such as \"02/Jan/2006:15:04:05 -0700\"", format)
}

var errTime = errors.New("no time that is known here: see --time-format")

// Parse reads one time.
func (s *Reader) Parse(text string) (int64, error) {
	text = strings.TrimSpace(text)
	s.Fine = showsFraction(text)
	if s.format != nil {
		return s.parseLayout(s.format, text)
	}
	if isNumber(text) {
		return s.unix(text)
	}
	if s.number {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if s.recent != nil {
		if t, err := s.parseLayout(s.recent, text); err == nil {
			return t, nil
		}
	}
	var wrong error
	for _, l := range layouts() {
		// A decimal comma is as good as a point, and package time takes either.
		t, err := s.parseLayout(l, text)
		if err == nil {
			s.recent = l
			return t, nil
		}
		if asks(err) { // a zone or a date that is not known: it is a time
			wrong = err
		}
	}
	if wrong == nil {
		wrong = notKnown(text)
	}
	return 0, wrong
}

// showsFraction reports whether a date or a time of day has digits behind its seconds.
func showsFraction(text string) bool {
	_, text, _ = strings.Cut(text, ":")
	i := strings.IndexAny(text, ".,")
	return i >= 0 && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9'
}

// isNumber reports whether a text looks like a number and not like a date.
func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i > 0 {
		text = text[:i] + strings.TrimLeft(text[i+1:], "+-")
	}
	return text != "" && text[0] >= '0' && text[0] <= '9' && strings.Trim(text, "0123456789.") == ""
}

func (s *Reader) parseLayout(l *layout, text string) (int64, error) {
	t, err := time.ParseInLocation(l.text, text, time.UTC) // whatever the zone of the reader is
	if err != nil {
		return 0, err
	}
	if t, err = s.date.complete(l, t); err != nil {
		return 0, err
	}
	if t.Year() < 1700 || t.Year() > 2200 {
		return 0, fmt.Errorf("the year %d is out of range", t.Year())
	}
	if t, err = s.zones.place(l, t); err != nil {
		return 0, err
	}
	s.Cycle = max(s.Cycle, l.cycle())
	s.Zoneless, s.Zoned = s.Zoneless || !l.zoned, s.Zoned || l.zoned
	if s.Zone == nil {
		s.Zone = t.Location()
	}
	return t.UnixNano(), nil
}

// unix reads a number since 1970. Without a unit its size tells it: a second
// has ten digits until the year 2286, a millisecond thirteen.
func (s *Reader) unix(text string) (int64, error) {
	s.Zoned = true
	whole, fraction, _ := strings.Cut(unexponent(text), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, errTime
	}
	unit := s.unit
	if unit == 0 {
		unit = unitOf(max(n, -n))
	}
	s.Fine = fraction != "" || unit < 1e9
	if n > math.MaxInt64/2/unit || n < -math.MaxInt64/2/unit {
		return 0, errors.New("a time out of range")
	}
	ns, err := decimals(fraction, unit)
	if err != nil {
		return 0, err
	}
	if text[0] == '-' {
		ns = -ns
	}
	return n*unit + ns, nil
}

// unexponent writes a number without its exponent, if it has one.
func unexponent(text string) string {
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return text
	}
	power, err := strconv.Atoi(text[i+1:])
	whole, fraction, _ := strings.Cut(text[:i], ".")
	if err != nil || power < 0 || power > 20 {
		return text // which is no time
	}
	if len(fraction) < power {
		fraction += strings.Repeat("0", power-len(fraction))
	}
	return whole + fraction[:power] + "." + fraction[power:]
}

// unitOf is the unit (ns) of a number since 1970, by its size.
func unitOf(size int64) int64 {
	switch {
	case size < 1e11:
		return 1e9
	case size < 1e14:
		return 1e6
	case size < 1e17:
		return 1e3
	}
	return 1
}

// decimals is the part of a number behind its point, in ns: exact, as a float would not be.
func decimals(digits string, unit int64) (int64, error) {
	sum := int64(0)
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, errTime
		}
		unit /= 10
		sum += int64(d-'0') * unit
	}
	return sum, nil
}

// Interval reads when a line begins and ends. Of an error it says whether it is that of the end.
func (s *Reader) Interval(begins, ends string) (is Stamp, ofEnd bool, err error) {
	at, err := s.Parse(begins)
	if err != nil || ends == "" {
		return Stamp{At: at, End: at}, false, err
	}
	end, err := s.Parse(ends)
	if err == nil && end < at {
		end = s.Cycle.turned(end, 1)
	}
	if err == nil && end < at {
		err = errors.New("it ends before it begins")
	}
	return Stamp{at, end}, true, err
}
