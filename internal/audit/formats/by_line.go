package formats

import (
	"bufio"
	"bytes"
	"errors"
	"strings"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// ByLine understands a log line by line: CSV, JSON lines or lines of text, one record a line.
type ByLine struct {
	// Heading is the line of names that a log in CSV begins with; empty in other formats.
	Heading string

	hand     *blockWorker
	before   int  // lines before the heading
	prefixed bool // lines begin with who wrote them
}

// OpenLines finds the columns of a log of which the first lines are known: for
// CSV the heading, and what follows it.
func (f *File) OpenLines(head []byte, format Format) (*ByLine, error) {
	if err := f.understand(); err != nil {
		return nil, err
	}
	if f.Lines.Whole {
		return nil, errors.New("records that are whole holds (--map begin=COLUMN) are not read line by line: judge such a table with check")
	}
	b := &ByLine{prefixed: format == JSON && prefixedLines(head)}
	in := bufio.NewReaderSize(bytes.NewReader(head), max(len(head), 16))
	open := openText
	switch format {
	case CSV:
		open = openCSV
	case JSON:
		open, in = openJSON, withoutPrefixes(in)
	}
	r, _, err := openRows(f, in, open)
	if err != nil {
		return nil, err
	}
	b.hand = r.hire()
	if format == CSV {
		n := beforeHeading(head)
		b.before = bytes.Count(head[:n], []byte("\n"))
		first, _, _ := strings.Cut(string(head[n:]), "\n")
		b.Heading = first + "\n"
	}
	return b, nil
}

// Worker is what understands the lines, and names what they name.
func (b *ByLine) Worker() *words.Worker { return b.hand.Worker }

// Line understands one line.
func (b *ByLine) Line(text []byte, number int) words.BlockResult {
	if number <= b.before {
		return words.BlockResult{}
	}
	if b.prefixed {
		text = unprefixed(text)
	}
	return b.hand.block(block{data: text, line: number})
}
