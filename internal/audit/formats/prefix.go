package formats

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// Some tools put the name of who wrote a line before it: `kubectl logs --prefix`, `docker
// compose logs` and stern. If JSON follows, its object gets the name as a member of its own.

const linePrefixColor = `(?:\x1b\[[0-9;]*m)*`

// linePrefixes are how lines of such tools begin, up to the object, and the members
// that their groups become. A time that the tool wrote may stand in between.
var linePrefixes = []struct {
	begins  lazyregexp.Regexp
	Members []string
}{
	{lazyregexp.New(`^` + linePrefixColor + `\[pod/([\w.-]+)/([\w.-]+)\]` + linePrefixColor +
		` (?:(\d{4}-[\w:.+-]+) )?\{`), []string{"log.pod", "log.container", "log.stamp"}},
	{lazyregexp.New(`^` + linePrefixColor + `([\w.-]+) *\| ?` + linePrefixColor + `(?:(\d{4}-[\w:.+-]+) )?\{`),
		[]string{"log.instance", "log.stamp"}},
	{lazyregexp.New(`^` + linePrefixColor + `([\w.-]+)` + linePrefixColor + ` ` + linePrefixColor + `([\w.-]+)` +
		linePrefixColor + ` \{`), []string{"log.pod", "log.container"}},
}

// unprefixed makes members of what stands before the object of a line.
func unprefixed(line []byte) []byte {
	if len(line) == 0 || line[0] == '{' {
		return line
	}
	for i := range linePrefixes {
		p := &linePrefixes[i]
		at := p.begins().FindSubmatchIndex(line)
		if at == nil {
			continue
		}
		text := []byte("{")
		for g, member := range p.Members {
			if from, to := at[2*g+2], at[2*g+3]; from >= 0 {
				text = strconv.AppendQuote(text, member)
				text = append(text, ':')
				text = strconv.AppendQuote(text, string(line[from:to]))
				text = append(text, ',')
			}
		}
		rest := bytes.TrimLeft(line[at[1]:], " \t")
		if bytes.HasPrefix(rest, []byte("}")) {
			text = text[:len(text)-1] // no other member
		}
		return append(text, rest...)
	}
	return line
}

// prefixedLines reports whether some line of text is an object behind a name.
func prefixedLines(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
			return false
		}
		if with := unprefixed(line); len(with) > 0 && with[0] == '{' && someObject(with) {
			return true
		}
	}
	return false
}

// unprefix reads lines with what stands before their objects as members of them.
type unprefix struct {
	in     *bufio.Reader
	within bool // of a line
	text   []byte
}

// withoutPrefixes is a log in JSON, whose lines may begin with the names of who wrote them.
func withoutPrefixes(in *bufio.Reader) *bufio.Reader {
	head, _ := in.Peek(in.Size())
	if !prefixedLines(head) {
		return in
	}
	return bufio.NewReaderSize(&unprefix{in: in}, in.Size())
}

func (u *unprefix) Read(p []byte) (int, error) {
	for len(u.text) == 0 {
		line, err := u.in.ReadSlice('\n')
		if len(line) == 0 && err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, err
		}
		u.text = line
		if !u.within {
			u.text = unprefixed(line)
		}
		u.within = errors.Is(err, bufio.ErrBufferFull)
	}
	n := copy(p, u.text)
	u.text = u.text[n:]
	return n, nil
}

// unprefixedRows reads a log in JSON.
func unprefixedRows(f *File, in *bufio.Reader) error {
	return inRows(openJSON)(f, withoutPrefixes(in))
}
