package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// Jepsen also keeps a history as lines of text, history.txt: process, :type,
// :f, value and perhaps an error, with tabs between them. In its log,
// jepsen.log, such lines stand behind a time and a thread, among others.

// jepsenLine is such a line.
var jepsenLine = lazyregexp.New(`(?:^|[ \]])(\d+|:[\w.-]+)[\t ]+:(invoke|ok|fail|info)[\t ]+(:[\w.-]+)[\t ]+([^\t]*)(?:\t(.*))?$`)

// jepsenText reports whether some line of a text is one, in a file that begins
// with no value of EDN or JSON.
func jepsenText(text []byte) bool {
	if len(text) == 0 || bytes.IndexByte([]byte("{[(#"), text[0]) >= 0 && !bytes.HasPrefix(text, []byte("[20")) {
		return false
	}
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(":invoke")) && jepsenLine().Match(bytes.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}

// lines reads a history in lines of text.
func (r *jepsenReader) lines(in *bufio.Reader) error {
	others := 0
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) { // what is so long is no op of a lock
			_, err = in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", r.file.Name, err)
		}
		switch part := jepsenLine().FindSubmatch(bytes.TrimRight(line, "\r\n")); {
		case part != nil && !long:
			if err := r.line(part, number); err != nil {
				return err
			}
		case len(bytes.TrimSpace(line)) > 0:
			others++
		}
		if err != nil {
			break
		}
	}
	if others > 0 {
		r.file.Leave("Lines that are no ops: %d; they are left out.", others)
	}
	return r.finish()
}

// line reads an op as the map that it stands for.
func (r *jepsenReader) line(part [][]byte, number int) error {
	text := fmt.Appendf(nil, "{:process %s, :type :%s, :f %s, :value %s", part[1], part[2], part[3], part[4])
	if len(bytes.TrimSpace(part[4])) == 0 {
		text = append(text, "nil"...)
	}
	if len(part[5]) > 0 {
		text = strconv.AppendQuote(append(text, ", :error "...), string(part[5]))
	}
	return r.add(value{text: append(text, '}'), line: number, column: 1})
}
