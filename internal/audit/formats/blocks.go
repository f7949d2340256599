package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

const (
	blockSize = 1 << 18 // bytes of a block, but for a record that is longer
	// bytes of a record: a line, or several of CSV where a field in quotes spans them
	maxRecord = 1 << 20
)

// block is a piece of a log that has whole records only.
type block struct {
	data []byte
	line int  // the number of its first line
	more bool // something of the log follows
}

// tears leaves out the record between two offsets of the block, if what is wrong with it may come
// from a writer that was stopped within it: the log ends with it and not with the end of a line,
// or it has bytes of 0, as the crash of a machine leaves them. Such a record refuses no log.
func (b *block) tears(w *words.Worker, from, end int, err error) bool {
	wrong, ok := errors.AsType[*history.SyntaxError](err)
	record := b.data[from:end]
	last := !b.more && end == len(b.data) && !bytes.HasSuffix(record, []byte("\n")) || ok && w.Unended(wrong.Line)
	if ok = ok && (last || bytes.IndexByte(record, 0) >= 0); ok {
		w.Tear(wrong.Line, wrong)
	}
	return ok
}

// errNoBorder: more bytes than a record may have do not tell where the first one ends.
var errNoBorder = errors.New("no end of a record")

// cutter cuts a log into blocks. It holds no more of the log than a block and a record.
type cutter struct {
	in   io.Reader
	file string
	size int
	// how many bytes lie before the last place where one record certainly ends; 0: none
	border func([]byte) int
	rest   []byte // what was read behind the block
	line   int
	failed error    // why there is no more to read
	held   *block   // the next one
	free   [][]byte // buffers of blocks that are done with
}

func newCutter(in io.Reader, file string, size int) *cutter {
	if size == 0 {
		size = blockSize
	}
	return &cutter{in: in, file: file, size: size, line: 1}
}

// next returns the next block; io.EOF ends the log. With errNoBorder the block
// is what was read so far.
func (c *cutter) next() (b block, err error) {
	if c.held != nil {
		b, c.held = *c.held, nil
		return b, nil
	}
	buf := append(c.buffer(), c.rest...)
	for c.rest = c.rest[:0]; ; {
		if buf, err = c.fill(buf); err != nil {
			return b, err
		}
		b = block{buf, c.line, c.failed == nil}
		switch n := c.border(buf); {
		case len(buf) == 0 && !b.more:
			return b, c.end()
		case !b.more:
			return b, nil
		case n > 0:
			c.rest = append(c.rest, buf[n:]...)
			b.data = buf[:n]
			c.line += bytes.Count(b.data, []byte("\n"))
			return b, nil
		case len(buf) > maxRecord:
			return b, errNoBorder
		}
	}
}

// fill reads on until the buffer has another block, or the log ends.
func (c *cutter) fill(buf []byte) ([]byte, error) {
	for want := len(buf)/c.size*c.size + c.size; len(buf) < want && c.failed == nil; {
		buf = slices.Grow(buf, want-len(buf))
		n, err := c.in.Read(buf[len(buf):want])
		buf, c.failed = buf[:len(buf)+n], err
	}
	if c.failed != nil && len(buf) == 0 {
		return buf, c.end()
	}
	return buf, nil
}

// Read reads on behind the blocks, without borders.
func (c *cutter) Read(p []byte) (int, error) {
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
	if c.failed != nil {
		return 0, c.failed
	}
	return c.in.Read(p)
}

// end is why the log has ended.
func (c *cutter) end() error {
	if errors.Is(c.failed, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("read %s: %w", c.file, c.failed)
}

func (c *cutter) buffer() (buf []byte) {
	if n := len(c.free); n > 0 {
		buf, c.free = c.free[n-1], c.free[:n-1]
	}
	return buf[:0]
}

// lastLine is where the last line ends.
func lastLine(data []byte) int { return bytes.LastIndexByte(data, '\n') + 1 }

// lastObject is where the last but one object of JSON ends: at the end of a
// line that ends with a brace, before one that begins with one. In right JSON
// that is between outermost objects; what is wrong shows itself, see errCut.
func lastObject(data []byte) int {
	for end := len(data); ; {
		i := bytes.LastIndexByte(data[:end], '\n')
		if i < 0 {
			return 0
		}
		before, behind := bytes.TrimRight(data[:i], " \t\r\n"), bytes.TrimLeft(data[i:], " \t\r\n")
		if bytes.HasSuffix(before, []byte("}")) && bytes.HasPrefix(behind, []byte("{")) {
			return i + 1
		}
		end = i
	}
}

// tooLong says that a record is longer than one may be; at is where in the
// block what is too long begins.
func (b *block) tooLong(file string, at int, what string) error {
	where := b.place(at)
	return &history.SyntaxError{File: file, Line: where.line, Column: where.column,
		Near: remarks.Excerpt(string(b.data[at:min(len(b.data), at+240)])),
		Err:  fmt.Errorf("%s of more than %d bytes", what, maxRecord)}
}

// place is where in the log an offset of the block stands.
func (b *block) place(at int) value {
	before := b.data[:at]
	return value{line: b.line + bytes.Count(before, []byte("\n")), column: at - bytes.LastIndexByte(before, '\n')}
}
