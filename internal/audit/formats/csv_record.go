package formats

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
)

// A log in CSV may have records that are cut or torn: its writer was stopped within
// one, or two wrote at a time. A line with a quote that is not closed may also be
// the beginning of a record of several lines. So one rule tells them apart:
//
//	A record of several lines counts if its quotes are closed in time and it has as many fields as the heading.
//	Else its first line is torn, and the next line begins another record.
//
// By this rule nothing that follows a record can change it, and a quote that is
// not closed takes only its own line along. It also finds borders between blocks
// fast: a line with an even number of quotes is never the first of several.

// csvReader reads records of CSV one at a time.
type csvReader struct {
	comma   rune
	columns int // how many fields a record has; -1: not known
	in      *bufio.Reader
}

// parse reads the record that data begins with. With more, data goes on where it ends: errCut.
func (c *csvReader) parse(data []byte, more bool) ([]string, *csv.Reader, error) {
	if c.in == nil {
		c.in = bufio.NewReader(nil)
	}
	c.in.Reset(&untilCut{data, more})
	in := csv.NewReader(c.in)
	in.Comma, in.FieldsPerRecord = c.comma, c.columns
	record, err := in.Read()
	return record, in, err
}

// several reads a record of several lines. It returns an error if there is
// none, and errCut if that is not certain yet.
func (c *csvReader) several(data []byte, more bool) ([]string, *csv.Reader, error) {
	lines := data
	if more {
		lines = data[:lastLine(data)]
	}
	record, in, err := c.parse(lines, more)
	switch {
	case err == nil && in.InputOffset() <= maxRecord:
		return record, in, nil
	case errors.Is(err, errCut) && len(data) <= maxRecord:
		return nil, nil, errCut
	}
	return nil, nil, errTorn
}

var errTorn = errors.New("a torn record")

// next reads the record that a block begins with, and returns how long it is.
// After an error that is its first line.
func (c *csvReader) next(data []byte) ([]string, *csv.Reader, int, error) {
	n := firstLine(data)
	record, in, err := c.parse(data[:n], false)
	if err != nil && odd(data[:n]) {
		if record, in, err := c.several(data, false); err == nil {
			return record, in, int(in.InputOffset()), nil
		}
	}
	return record, in, n, err
}

// border is where the last record ends of which nothing that follows can make another one.
func (c *csvReader) border(data []byte) int {
	last := lastLine(data)
	for at := 0; ; {
		quote := bytes.IndexByte(data[at:last], '"')
		if quote < 0 {
			return last
		}
		at += lastLine(data[at : at+quote])
		n := firstLine(data[at:])
		if odd(data[at : at+n]) {
			switch _, in, err := c.several(data[at:], true); {
			case errors.Is(err, errCut):
				return at
			case err == nil:
				n = int(in.InputOffset())
			}
		}
		at += n
	}
}

// odd reports whether a line has a quote without another one.
func odd(line []byte) bool { return bytes.Count(line, []byte(`"`))%2 != 0 }

// firstLine is how long the first line is.
func firstLine(data []byte) int {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1
	}
	return len(data)
}
