package times

import (
	"bytes"
	"math"
	"time"
)

// The usual times, without what package time takes for being able to read all
// others: a test holds both to the same answers.

// Quick reads a time in the usual form; ok is false where parse has to.
func (s *Reader) Quick(text []byte) (ns int64, ok bool) {
	if len(text) == 0 {
		return 0, false
	}
	if len(text) > 4 && text[4] == '-' && !s.number && (s.format == nil || s.format.text == time.RFC3339Nano) {
		return s.quickDate(text)
	}
	if s.format != nil {
		return 0, false
	}
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	n, ok := Digits(whole)
	unit := s.unit
	if unit == 0 {
		unit = unitOf(n)
	}
	if !ok || n > math.MaxInt64/2/unit {
		return 0, false
	}
	s.Zoned = true
	s.Fine = len(fraction) > 0 || unit < 1e9
	ns, err := decimals(string(fraction), unit)
	return n*unit + ns, err == nil
}

// quickDate reads a date and a time of day, such as 2026-11-25T15:00:00.25Z,
// also with a space in the middle or without a zone.
func (s *Reader) quickDate(text []byte) (ns int64, ok bool) {
	if len(text) < len("2006-01-02T15:04:05") || text[10] != 'T' && (text[10] != ' ' || s.format != nil) {
		return 0, false
	}
	if string(text[:10]) != string(s.day[:]) {
		t, ok := midnight(text[:10])
		if !ok {
			return 0, false
		}
		s.midnight = t
		copy(s.day[:], text)
	}
	clock, ok := clockTime(text[11:19], 3)
	if !ok {
		return 0, false
	}
	fraction, zone := fractions(text[19:])
	if fraction < 0 {
		return 0, false
	}
	offset, zoned, ok := zoneOf(zone)
	if !ok || !zoned && s.format != nil {
		return 0, false
	}
	if !zoned && s.where != nil || s.format != nil && len(zone) > 1 && len(zone) != len("+00:00") {
		return 0, false
	}
	s.Zoneless, s.Zoned, s.Fine = s.Zoneless || !zoned, s.Zoned || zoned, len(zone) < len(text)-19
	if s.Zone == nil {
		s.Zone = time.FixedZone("", int(offset))
	}
	return (s.midnight+clock-offset)*1e9 + fraction, true
}

// midnight is when a day began, in s since 1970; it takes the years that parse takes.
func midnight(text []byte) (int64, bool) {
	year, okYear := Digits(text[:4])
	month, okMonth := Digits(text[5:7])
	day, okDay := Digits(text[8:10])
	if !okYear || !okMonth || !okDay || text[4] != '-' || text[7] != '-' || year < 1701 || year > 2199 || month < 1 ||
		month > 12 || day < 1 {
		return 0, false
	}
	t := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	return t.Unix(), t.Day() == int(day)
}

// clockTime reads n numbers of two digits with colons between: hours, minutes, seconds.
func clockTime(text []byte, n int) (seconds int64, ok bool) {
	if len(text) != 3*n-1 {
		return 0, false
	}
	most := [...]int64{24, 60, 60}
	for i := range 3 {
		seconds *= 60
		if i >= n {
			continue
		}
		part, ok := Digits(text[3*i : 3*i+2])
		if !ok || part >= most[i] || i > 0 && text[3*i-1] != ':' {
			return 0, false
		}
		seconds += part
	}
	return seconds, true
}

// fractions reads a point and up to nine digits, in ns, if there is a point;
// less than 0: something else.
func fractions(text []byte) (ns int64, rest []byte) {
	if len(text) == 0 || text[0] != '.' && text[0] != ',' {
		return 0, text
	}
	n, unit := 1, int64(1e9)
	for ; n < len(text) && text[n] >= '0' && text[n] <= '9'; n++ {
		unit /= 10
		ns += unit * int64(text[n]-'0')
	}
	if n == 1 || n > 10 || text[0] == ',' {
		return -1, text
	}
	return ns, text[n:]
}

// zoneOf reads a zone, in s east of UTC; zoned is false where there is none.
func zoneOf(text []byte) (offset int64, zoned, ok bool) {
	switch {
	case len(text) == 0:
		return 0, false, true
	case len(text) == 1 && text[0] == 'Z':
		return 0, true, true
	case len(text) < len("+00") || text[0] != '+' && text[0] != '-':
		return 0, false, false
	case len(text) != len("+00:00"):
		offset, ok = offsetOf(string(text))
		return offset, true, ok
	}
	if offset, ok = clockTime(text[1:], 2); text[0] == '-' {
		offset = -offset
	}
	return offset, true, ok
}

// Digits is a number of at most 18 digits, and nothing but digits.
func Digits(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}
