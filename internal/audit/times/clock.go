package times

import (
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
)

// Clock follows what the clock of a log does that its times do not tell: days and years that end,
// and the hour by which it is set back in autumn. It takes the lines in the order of the file.
type Clock struct {
	zones   zones
	file    time.Time // the day that the first line is taken for
	guessed bool      // nobody said it
	joined  bool      // the log is of several files
	began   string    // the first line's, as it is shown

	turns  int   // days or years that have ended
	last   int64 // the time of the line before
	lines  int
	rises  int
	falls  int
	sunk   bool  // times have gone back by more than a minute
	back   int32 // the line before which the clock was set back by an hour; 0: none
	by     time.Duration
	odd    int32 // a line that goes back as far, where nothing says that the clock was set
	oddBy  time.Duration
	unsure int32 // a line that goes back as far, after the clock was set back

	bare, zoned int32 // the first lines without a zone and with one
}

const (
	// leastBack is how far times go back at least where a clock was set back by an hour.
	leastBack = 20 * time.Minute
	// tardy is how late a line may come in a file that is in order.
	tardy = time.Minute
)

// NewClock follows the times that a reader reads. joined: the log is of several
// files; guessed: nobody said of which day it is.
func NewClock(s *Reader, joined, guessed bool) Clock {
	return Clock{zones: s.zones, file: s.date.first, joined: joined, guessed: guessed}
}

// Follow corrects the times of a line, by what the times read with it have shown.
func (c *Clock) Follow(e *Stamp, line int32, seen *Seen) {
	bare := seen.Zoneless
	if seen.Cycle.Returns() {
		c.turn(e, seen.Cycle)
	}
	if c.back != 0 && bare {
		c.later(e)
	}
	if fall := time.Duration(c.last - e.At); c.lines > 0 && fall > 0 {
		c.falls++
		if c.joined {
			c.last = e.At
			return
		}
		c.fell(e, line, fall, bare)
	} else if c.lines > 0 && fall < 0 {
		c.rises++
	}
	c.last = e.At
	c.lines++
}

// turn moves a line into its day or year.
func (c *Clock) turn(e *Stamp, cycle cycle) {
	if c.lines == 0 {
		if cycle == yearly && c.guessed && e.At > c.file.Add(48*time.Hour).UnixNano() {
			c.turns-- // the file was written after it
		}
		layout := "2006"
		if cycle == daily {
			layout = time.DateOnly
		}
		c.began = time.Unix(0, cycle.turned(e.At, c.turns)).UTC().Format(layout)
	}
	at, turns := cycle.turned(e.At, c.turns), c.turns
	switch newestFirst := c.falls > c.rises; {
	case c.lines == 0:
	case newestFirst && at-c.last > cycle.half():
		c.turns--
		turns--
	case newestFirst:
	case c.last-at > cycle.half():
		c.turns++
		turns++
	case time.Duration(c.last-cycle.turned(e.At, c.turns-1)) < tardy: // a late line of the day before
		turns--
	}
	e.At, e.End = cycle.turned(e.At, turns), cycle.turned(e.End, turns)
}

// later moves a line by the hour by which the clock was set back.
func (c *Clock) later(e *Stamp) {
	if c.zones.where != nil && !c.zones.again(e.At/1e9) {
		return // the zone tells
	}
	e.At, e.End = e.At+int64(time.Hour), e.End+int64(time.Hour)
}

// fell looks at a line whose time is less than that of the line before.
func (c *Clock) fell(e *Stamp, line int32, fall time.Duration, bare bool) {
	hour := fall >= leastBack && fall <= time.Hour
	switch {
	case c.back != 0:
		if fall >= leastBack && c.unsure == 0 {
			c.unsure = line
		}
	case bare && hour && c.rises > 0 && !c.sunk && c.autumn(e.At):
		c.back, c.by = line, fall
		c.later(e)
	case hour && c.rises > 0 && !c.sunk && c.odd == 0:
		c.odd, c.oddBy = line, fall
	}
	c.sunk = c.sunk || c.back == 0 && fall > tardy
}

// autumn reports whether clocks are set back by an hour at such a time: where
// the zone says so, or else in the night to a Sunday.
func (c *Clock) autumn(at int64) bool {
	if c.zones.where != nil {
		return c.zones.again(at / 1e9)
	}
	t := time.Unix(0, at).UTC()
	return t.Weekday() == time.Sunday && t.Hour() < 4
}

// Tell says what the clock was taken to do.
func (c *Clock) Tell(r *remarks.Remarks, cycle cycle) {
	if cycle.Returns() && c.guessed {
		r.Assume("The times have no %s. The first is of %s, by the file's own date, and they go on from there (--date).", cycle, c.began)
	}
	if c.back != 0 {
		r.Assume("The clock was set back by an hour before line %d, which is %s earlier than the line before. So the times from there on are taken for an hour later (--timezone).", c.back, c.by)
	}
	if c.unsure != 0 {
		r.Doubt(remarks.Tally{N: 1, First: c.unsure},
			"times go back once more, so in which order the lines were written is not told (--timezone).")
	}
	if c.odd != 0 && c.bare != 0 {
		r.Leave("Line %d is %s earlier than the line before. If a clock was set there, or another file begins, the order of the lines by their times is wrong.", c.odd, c.oddBy)
	}
}

// CheckZone notes whether lines have a zone, and refuses those of both kinds
// where nobody says which zone the others have.
func (c *Clock) CheckZone(file string, bare, zoned int32) error {
	if c.bare == 0 {
		c.bare = bare
	}
	if c.zoned == 0 {
		c.zoned = zoned
	}
	if c.bare == 0 || c.zoned == 0 || c.zones.where != nil {
		return nil
	}
	err := fmt.Errorf("this time has a zone, and that of line %d has none: say of which zone it is with --timezone, such as Europe/Berlin or UTC", c.bare)
	if c.bare > c.zoned {
		err = fmt.Errorf("this time has no zone, and that of line %d has one: say of which zone it is with --timezone, such as Europe/Berlin or UTC", c.zoned)
	}
	return &history.SyntaxError{File: file, Line: int(max(c.bare, c.zoned)), Err: err}
}
