package watch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// batch is some lines, or why there are no more.
type batch struct {
	lines [][]byte
	err   error
}

// readLines reads lines in batches, also of a text in UTF-16. What follows the first longestLine
// bytes of a line is left out. The channel is closed at the end.
func readLines(ctx context.Context, in io.Reader) <-chan batch {
	out := make(chan batch, 4)
	go func() {
		defer close(out)
		r := bufio.NewReaderSize(formats.Decoded(in), 1<<16)
		for {
			var b batch
			for len(b.lines) == 0 || r.Buffered() > 0 && len(b.lines) < 4096 {
				line, err := readLine(r)
				if line != nil {
					b.lines = append(b.lines, line)
				}
				if err != nil {
					b.err = err
					break
				}
			}
			end := b.err
			if b.err = nil; len(b.lines) > 0 {
				select {
				case out <- b:
				case <-ctx.Done():
					return
				}
			}
			if end != nil && !errors.Is(end, io.EOF) {
				select {
				case out <- batch{err: end}:
				case <-ctx.Done():
				}
			}
			if end != nil {
				return
			}
		}
	}()
	return out
}

// readLine reads one line without its end, and of a long one the beginning. The mark that some
// programs begin a text with is left out, also where a rotated file goes on.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if line == nil && len(part) > 0 {
			line = []byte{}
		}
		line = append(line, part[:min(len(part), longestLine-len(line))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) > 0 && line[len(line)-1] == '\n' {
			line = line[:len(line)-1]
		}
		return bytes.TrimPrefix(line, []byte("\ufeff")), err
	}
}
