package saved

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// joinedFiles are the files of one log, read one after the other. A heading that all
// of them have is read once.
type joinedFiles struct {
	files   []string
	opened  *os.File
	in      *bufio.Reader
	next    int
	heading []byte
	line    int  // lines so far
	broken  bool // the last line has no end
	begun   sync.Mutex
	begins  []int  // the line with which each file begins
	unended []int  // the lines in which files end
	ahead   []byte // what was read of the file already
}

// JudgeFiles judges the files of one log, such as one of each pod, as one.
func (r Reading) JudgeFiles(files []string) (*Judged, error) {
	p := &joinedFiles{files: files}
	defer p.close()
	r.Joined, r.FileOf, r.Unended = true, p.fileOf, p.unendedAt
	j, err := r.judge(p, strings.Join(files, " and "))
	if err != nil {
		return nil, err
	}
	if j.source == nil {
		return nil, errors.New("--together is for logs, and this is a history of lockchaos")
	}
	var where []string
	for i, line := range p.begins {
		where = append(where, fmt.Sprintf("%s begins with line %d", files[i], line))
	}
	j.source.Left = append(j.source.Left, "Lines are counted through all files: "+strings.Join(where, ", ")+".")
	return j, nil
}

func (p *joinedFiles) Read(to []byte) (int, error) {
	for {
		if len(p.ahead) > 0 {
			n := copy(to, p.ahead)
			p.ahead = p.ahead[n:]
			p.count(to[:n])
			return n, nil
		}
		if p.in != nil {
			n, err := p.in.Read(to)
			if n > 0 {
				p.count(to[:n])
				return n, nil
			}
			if !errors.Is(err, io.EOF) {
				return 0, err
			}
			p.close()
		}
		if p.next == len(p.files) {
			return 0, io.EOF
		}
		if err := p.open(); err != nil {
			return 0, err
		}
	}
}

// fileOf is the file that a line stands in, of those that were read.
func (p *joinedFiles) fileOf(line int) string {
	p.begun.Lock()
	defer p.begun.Unlock()
	i, found := slices.BinarySearch(p.begins, line)
	if !found {
		i--
	}
	return p.files[max(i, 0)]
}

// unendedAt reports whether a file ends within a line.
func (p *joinedFiles) unendedAt(line int) bool {
	p.begun.Lock()
	defer p.begun.Unlock()
	return slices.Contains(p.unended, line)
}

func (p *joinedFiles) count(text []byte) {
	p.line += bytes.Count(text, []byte("\n"))
	p.broken = text[len(text)-1] != '\n'
}

// open goes on with the next file.
func (p *joinedFiles) open() (err error) {
	if p.opened, err = os.Open(p.files[p.next]); err != nil {
		return fmt.Errorf("no log there: %w", err)
	}
	p.in = bufio.NewReaderSize(formats.Decoded(p.opened), 1<<16)
	p.next++
	first, err := p.in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", p.opened.Name(), err)
	}
	p.ahead = first
	switch {
	case p.heading == nil:
		p.heading = bytes.TrimSpace(first)
	case bytes.Equal(p.heading, bytes.TrimSpace(first)):
		p.ahead = nil
	}
	p.begun.Lock()
	defer p.begun.Unlock()
	if p.broken {
		p.ahead = append([]byte("\n"), p.ahead...)
		p.begins, p.unended = append(p.begins, p.line+2), append(p.unended, p.line+1)
		return nil
	}
	p.begins = append(p.begins, p.line+1)
	return nil
}

func (p *joinedFiles) close() {
	if p.opened != nil {
		_ = p.opened.Close() // it was only read
		p.opened, p.in = nil, nil
	}
}
