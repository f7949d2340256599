package formats

import (
	"bufio"
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// Decoded reads a text as UTF-8. One in UTF-16, which PowerShell writes, is known by its
// first bytes. What is no character in it, as half a one at its end, becomes U+FFFD.
func Decoded(in io.Reader) io.Reader { return &decoded{in: bufio.NewReader(in)} }

type decoded struct {
	in   *bufio.Reader
	text io.Reader // nil: its first bytes have not been seen yet
}

func (d *decoded) Read(p []byte) (int, error) {
	if d.text == nil {
		d.text = d.begin()
	}
	return d.text.Read(p)
}

// begin finds out what the text is.
func (d *decoded) begin() io.Reader {
	head, _ := d.in.Peek(4)
	order := unicode.LittleEndian
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), len(head) == 4 && head[0] != 0 && head[1] == 0 && head[2] != 0 &&
		head[3] == 0:
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}), len(head) == 4 && head[0] == 0 && head[1] != 0 && head[2] == 0 &&
		head[3] != 0:
		order = unicode.BigEndian
	default:
		return d.in
	}
	return unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder().Reader(d.in)
}
