package times

import (
	"errors"
	"fmt"
	"time"
)

// A zone that is not known is asked for, and never taken for UTC: the answer
// must not depend on who reads the log, and where.

// zones is what is known of the zones of a log's times.
type zones struct {
	where *time.Location   // of times without a zone; nil: not known
	named map[string]int64 // by name, s east of UTC
}

// openTime is a time of which something has to be asked: its zone, or its date.
type openTime struct{ asks string }

func (o *openTime) Error() string { return o.asks }

// asks reports whether an error about a time asks for what is not known of it.
func asks(err error) bool {
	_, open := errors.AsType[*openTime](err)
	return open
}

func newZones(timezone string, names map[string]string) (z zones, err error) {
	if timezone != "" {
		if z.where, err = time.LoadLocation(timezone); err != nil || z.where == time.Local {
			return z, fmt.Errorf("the time zone %q is not known: want a name of the time zone database, such as Europe/Berlin, or UTC", timezone)
		}
	}
	for name, text := range names {
		offset, ok := offsetOf(text)
		if !ok {
			return z, fmt.Errorf("the zone %s=%s: want an offset from UTC, such as %[1]s=+01:00", name, text)
		}
		if z.named == nil {
			z.named = map[string]int64{}
		}
		z.named[name] = offset
	}
	return z, nil
}

// offsetOf reads an offset such as +01:00, +0100 or +01, in s east of UTC.
func offsetOf(text string) (int64, bool) {
	if text == "" || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	clock := text[1:]
	switch len(clock) {
	case len("01"):
		clock += ":00"
	case len("0100"):
		clock = clock[:2] + ":" + clock[2:]
	}
	offset, ok := clockTime([]byte(clock), 2)
	if text[0] == '-' {
		offset = -offset
	}
	return offset, ok
}

// place gives a time that was read as one of UTC its zone.
func (z *zones) place(l *layout, t time.Time) (time.Time, error) {
	_, offset := t.Zone()
	wall := t.Unix() + int64(offset)
	switch {
	case !l.zoned && z.where == nil:
		return t, nil
	case !l.zoned:
		return time.Unix(z.earliest(wall), int64(t.Nanosecond())).In(z.where), nil
	case !l.named || offset != 0:
		return t.In(time.FixedZone("", offset)), nil
	}
	name, _ := t.Zone()
	east, known := z.east(name, wall)
	if !known {
		return t, &openTime{fmt.Sprintf("the zone %s is not known here: say its offset, such as --zone %[1]s=+01:00, or where the log is from, such as --timezone Europe/Berlin", name)}
	}
	return time.Unix(wall-east, int64(t.Nanosecond())).In(time.FixedZone("", int(east))), nil
}

// east is the offset of a zone by its name, in s.
func (z *zones) east(name string, wall int64) (int64, bool) {
	if east, ok := z.named[name]; ok {
		return east, true
	}
	switch {
	case name == "UTC" || name == "GMT" || name == "UT" || name == "Z":
		return 0, true
	case name[0] == '+' || name[0] == '-':
		return offsetOf(name)
	}
	return z.abbreviated(name, wall)
}

// abbreviated is the offset that a name of a zone has where the log is from.
func (z *zones) abbreviated(name string, wall int64) (east int64, ok bool) {
	if z.where == nil {
		return 0, false
	}
	// before and after a change of the offset
	for _, at := range [...]int64{wall - 24*3600, wall + 24*3600} {
		if is, offset := time.Unix(at, 0).In(z.where).Zone(); is == name {
			return int64(offset), true
		}
	}
	return 0, false
}

// earliest is the instant (s since 1970) at which clocks first showed a time
// (s). They show it twice when they are set back.
func (z *zones) earliest(wall int64) int64 {
	before, after := z.offset(wall-24*3600), z.offset(wall+24*3600)
	if at := wall - before; z.offset(at) == before {
		return at
	}
	return wall - after
}

func (z *zones) offset(at int64) int64 {
	_, offset := time.Unix(at, 0).In(z.where).Zone()
	return int64(offset)
}

// again reports whether clocks show the time of an instant once more an hour later.
func (z *zones) again(at int64) bool {
	return z.where != nil && z.offset(at+3600) == z.offset(at)-3600
}
