package harmless

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Writer passes text on to a terminal or a log of a CI job. Hidden characters are escaped, but for
// line breaks and tabs. No line of it is a command to a CI runner: one that begins with a colon is
// prefixed with "| ", and in "##[" and "##vso[" the bracket is escaped. Safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	to     io.Writer
	begun  bool   // the line has more than white space
	marker int    // how much of "##word" stands before
	held   []byte // the beginning of a character, or of a sequence of ours
	token  string // ends GitHub's stop-commands; "": commands are obeyed
}

// NewWriter returns a Writer to w: w itself, if it is one.
func NewWriter(w io.Writer) *Writer {
	if is, ok := w.(*Writer); ok {
		return is
	}
	return &Writer{to: w}
}

// To returns where the text goes.
func (w *Writer) To() io.Writer { return w.to }

// The values of Writer.marker.
const (
	noMarker = iota
	oneHash
	twoHashes // and a word, perhaps
)

// Write takes everything.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(p), w.pass(p, false)
}

// pass passes text on. What may go on in the next call is held back, unless this is the end.
func (w *Writer) pass(p []byte, end bool) error {
	if len(w.held) > 0 {
		p = append(w.held, p...)
		w.held = nil
	}
	if w.printable(p) == len(p) && len(p) > 0 {
		_, err := w.to.Write(p)
		return err
	}
	out := make([]byte, 0, len(p)+len(p)/8)
	for len(p) > 0 {
		if n := w.printable(p); n > 0 {
			out, p = append(out, p[:n]...), p[n:]
			continue
		}
		if p[0] == ownBegin[0] {
			if n := ownLength(string(p)); n > 0 {
				out = append(out, p[len(ownBegin):n-len(ownEnd)]...)
				p = p[n:]
				continue
			}
			if !end && beginsOwn(string(p)) {
				break
			}
		}
		if !end && !utf8.FullRune(p) {
			break
		}
		r, size := utf8.DecodeRune(p)
		out, p = w.character(out, r), p[size:]
	}
	w.held = append(w.held, p...)
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}

// printable is how many of the next bytes need no look: printable ASCII within
// a line, and on to the next ones.
func (w *Writer) printable(p []byte) int {
	if !w.begun || w.marker != noMarker {
		return 0
	}
	for i := 0; i < len(p); i++ {
		for i+8 <= len(p) && plain(binary.LittleEndian.Uint64(p[i:])) {
			i += 8
		}
		if i == len(p) {
			break
		}
		switch b := p[i]; {
		case letter(b):
		case b == '\n' && i+1 < len(p) && letter(p[i+1]) && p[i+1] != ' ' && p[i+1] != ':': // the next line has begun
		default:
			return i
		}
	}
	return len(p)
}

// letter reports whether a byte is printable ASCII, and no '#'.
func letter(b byte) bool { return b >= ' ' && b < 0x7f && b != '#' }

// plain reports whether eight bytes are all such letters. A byte takes part in
// the sums with its lower seven bits, so nothing is carried from one to the
// next; its upper bit tells what the sum came to.
func plain(u uint64) bool {
	const (
		every = 0x0101010101010101
		top   = 0x80 * every
	)
	low := u &^ top
	return u&top == 0 && (low+(0x80-' ')*every)&^(low+every)&((low^'#'*every)+0x7f*every)&top == top
}

// character appends a character to out, as it may be shown.
func (w *Writer) character(out []byte, r rune) []byte {
	if r == '\n' {
		w.begun, w.marker = false, noMarker
		return append(out, '\n')
	}
	bracket := r == '[' && w.marker == twoHashes
	switch {
	case r == '#':
		w.marker = min(w.marker+1, twoHashes)
	case w.marker == twoHashes && unicode.IsLetter(r): // of ##vso[
	default:
		w.marker = noMarker
	}
	if !w.begun && r == ':' {
		out = append(out, "| "...)
	}
	w.begun = w.begun || !unicode.IsSpace(r)
	if bracket || Hidden(r) && r != '\t' {
		w.begun = true
		return append(out, escape(r)...)
	}
	return utf8.AppendRune(out, r)
}

// StopCommands tells GitHub's runner to take no line for a command, no
// matter which program writes it, until the Writer is closed.
func (w *Writer) StopCommands() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stop()
}

func (w *Writer) stop() error {
	w.token = fmt.Sprintf("%x", rand.Text())
	return w.command("stop-commands::" + w.token)
}

// Commands lets f write commands to the runner, as they are. Before and after
// them, commands are off if they were.
func (w *Writer) Commands(f func(io.Writer) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.token == "" {
		return f(w.to)
	}
	if err := w.resume(); err != nil {
		return err
	}
	if err := f(w.to); err != nil {
		return err
	}
	return w.stop()
}

// Close passes on what was held back, and lets the runner obey commands again.
// It does not close what it writes to.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.pass(nil, true); err != nil || w.token == "" {
		return err
	}
	return w.resume()
}

func (w *Writer) resume() error {
	token := w.token
	w.token = ""
	return w.command(token + "::")
}

// command writes a command on a line of its own.
func (w *Writer) command(text string) error {
	if err := w.pass(nil, true); err != nil {
		return err
	}
	before := ""
	if w.begun {
		before = "\n"
	}
	w.begun, w.marker = false, noMarker
	_, err := fmt.Fprintf(w.to, "%s::%s\n", before, text)
	return err
}
