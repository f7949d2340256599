package formats

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// MONITOR of Redis prints each command when the server runs it, and no replies.
// A script's own commands follow on lines of "lua", so they show what it found.
// See contenders for what these lines prove.

// monitorBegins is how such a file begins. The client of redis prints an OK before it.
var monitorBegins = lazyregexp.New(`^(OK\s+)?\d{9,11}\.\d{6} \[\d+ \S+\] "`)

// command is a line of MONITOR.
type command struct {
	line   int32
	at     int64  // ns since 1970
	db     string // empty: the first one
	client string // its address; luaClient: a script
	name   string // in lower case
	words  []string
}

const luaClient = "lua"

// relevant are the commands that may tell of a lock. The others are not taken apart.
var relevant = map[string]bool{"set": true, "setnx": true, "eval": true, "evalsha": true, "script": true, "get": true,
	"exists": true, "ttl": true, "pttl": true,
	"del": true, "unlink": true, "expire": true, "pexpire": true, "expireat": true, "pexpireat": true, "getset": true,
	"setex": true, "psetex": true}

// errNoCommand: a line is none of MONITOR's.
var errNoCommand = errors.New("no line of MONITOR")

// parseCommand takes a line apart, that of a script whole, any other as far as
// it may tell of a lock.
func parseCommand(line []byte) (c command, err error) {
	stamp, rest, _ := bytes.Cut(line, []byte(" ["))
	from, rest, ok := bytes.Cut(rest, []byte("] "))
	seconds, micros, dot := bytes.Cut(stamp, []byte("."))
	s, whole := times.Digits(seconds)
	us, part := times.Digits(micros)
	db, client, space := bytes.Cut(from, []byte(" "))
	if !ok || !dot || !whole || !part || !space || len(micros) != 6 || s > 1<<33 {
		return c, errNoCommand
	}
	c.at, c.client = s*1e9+us*1e3, string(client)
	if string(db) != "0" {
		c.db = string(db)
	}
	for len(rest) > 0 {
		var word string
		if word, rest, err = quotedWord(rest); err != nil {
			return c, err
		}
		if c.name == "" {
			if c.name = strings.ToLower(word); c.client != luaClient && !relevant[c.name] {
				return c, nil
			}
			continue
		}
		c.words = append(c.words, word)
	}
	if c.name == "" {
		return c, errNoCommand
	}
	return c, nil
}

// quotedWord takes the first word of a command's words. What is no text stays as MONITOR wrote it.
func quotedWord(text []byte) (word string, rest []byte, err error) {
	if text[0] != '"' {
		return "", nil, errNoCommand
	}
	end := 1
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(text) {
		return "", nil, io.ErrUnexpectedEOF
	}
	raw, rest := text[1:end], bytes.TrimPrefix(text[end+1:], []byte(" "))
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), rest, nil
	}
	if plain := unescaped(raw); utf8.Valid(plain) && bytes.IndexByte(plain, 0) < 0 {
		return string(plain), rest, nil
	}
	return string(raw), rest, nil
}

// unescaped is what a word of MONITOR stands for.
func unescaped(raw []byte) []byte {
	var out []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		i++
		if high, low := hexOf(raw, i+1), hexOf(raw, i+2); raw[i] == 'x' && high >= 0 && low >= 0 {
			out = append(out, byte(high<<4|low))
			i += 2
			continue
		}
		if at := strings.IndexByte("nrtab", raw[i]); at >= 0 {
			out = append(out, "\n\r\t\a\b"[at])
			continue
		}
		out = append(out, raw[i])
	}
	return out
}

// hexOf is the hexadecimal digit at a place; -1: there is none.
func hexOf(raw []byte, at int) int {
	if at >= len(raw) {
		return -1
	}
	return strings.IndexByte("0123456789abcdef", raw[at]|0x20)
}

// monitor reads the output of MONITOR.
type monitor struct {
	*contenders
	file  *File
	in    *bufio.Reader
	buf   []byte // of a long line
	line  int
	begun bool
	other remarks.Tally // lines that are no commands
	cut   remarks.Tally // of those, lines that may tell of a lock
	long  remarks.Tally // commands that are too long to be read
}

// Monitor is the output of MONITOR.
const Monitor Format = "monitor"

func openMonitor(f *File, in io.Reader) (recordReader, error) {
	f.What = "MONITOR of Redis"
	return &monitor{contenders: newContenders(), file: f, in: bufio.NewReaderSize(in, 1<<16)}, nil
}

func (m *monitor) some(w *words.Worker) error {
	for !w.Full() {
		text, err := m.next()
		if len(bytes.TrimSpace(text)) > 0 {
			m.command(w, bytes.TrimRight(text, "\r\n"))
		}
		if errors.Is(err, io.EOF) {
			if !m.begun {
				return m.file.unlike("output of MONITOR")
			}
			m.finish(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next reads the next line. One that is too long is left out, for any value may be written.
func (m *monitor) next() (text []byte, err error) {
	m.line++
	text, err = m.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return text, err
	}
	m.buf = m.buf[:0]
	for {
		if len(m.buf) <= maxRecord {
			m.buf = append(m.buf, text...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		text, err = m.in.ReadSlice('\n')
	}
	if len(m.buf) > maxRecord {
		m.long.Add(int32(min(m.line, math.MaxInt32)))
		return nil, err
	}
	return m.buf, err
}

// command reads a line.
func (m *monitor) command(w *words.Worker, text []byte) {
	if string(text) == "OK" {
		return
	}
	c, err := parseCommand(text)
	c.line = int32(min(m.line, math.MaxInt32))
	if err != nil {
		m.other.Add(c.line)
		if lower := bytes.ToLower(text); bytes.Contains(lower, []byte(`"set`)) ||
			bytes.Contains(lower, []byte(`"eval`)) {
			m.cut.Add(c.line)
		}
		return
	}
	m.begun = true
	m.add(w, &c)
}

func (m *monitor) tell() {
	l := &m.file.Remarks
	m.contenders.tell(l)
	if m.other.N > 0 {
		l.Leave("Lines that are no commands of MONITOR: %d, the first is line %d; they are left out.", m.other.N,
			m.other.First)
	}
	l.Doubt(m.cut, "it is left out, and seems to tell of a lock.")
	if m.long.N > 0 {
		l.Leave("Commands of more than %d bytes: %d, the first is line %d; they are left out.", maxRecord, m.long.N,
			m.long.First)
	}
}
