package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Compressed is how the names of compressed history files end. In Zstandard a
// history is about a sixth of its size.
const Compressed = ".zst"

// zstdMagic begins every Zstandard frame (RFC 8878, 3.1.1), and no header line.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// gzipMagic begins every gzip member (RFC 1952, 2.3.1; there is one method
// only): what a report carries of its history is compressed so.
var gzipMagic = []byte{0x1f, 0x8b, 8}

// maxWindow bounds what a compressed file can make its reader remember, however it was written.
const maxWindow = 64 << 20

// Decompressed looks at how the input begins: a compressed history is read as
// what it holds, any other one as it is.
func Decompressed(in *bufio.Reader, name string) (*bufio.Reader, error) {
	begin, _ := in.Peek(len(zstdMagic)) // a later read reports what is wrong
	switch {
	case bytes.HasPrefix(begin, gzipMagic):
		file := &counted{in: in}
		z, err := gzip.NewReader(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		return bufio.NewReaderSize(&frames{d: z, file: file, name: name}, readAhead), nil
	case !bytes.Equal(begin, zstdMagic):
		return in, nil
	}
	// With one decoder it reads when it is asked, in the goroutine that asks:
	// nothing is left running when nobody asks any more.
	file := &counted{in: in}
	d, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return bufio.NewReaderSize(&frames{d: d, file: file, name: name}, readAhead), nil
}

// frames reads compressed frames. A frame that is cut ends like a file that is
// cut, so that what is whole can be judged.
type frames struct {
	d    io.Reader
	file *counted
	name string
	out  int64
}

// A compressed file that becomes longer than anyTimes is refused where it
// becomes more than mostTimes as long: real histories and logs become less than
// fifty times as long, and a small file must not fill the memory.
const (
	anyTimes  = 256 << 20
	mostTimes = 200
)

// counted counts what is read.
type counted struct {
	in io.Reader
	n  int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

func (f *frames) Read(p []byte) (int, error) {
	n, err := f.d.Read(p)
	if f.out += int64(n); f.out > anyTimes && f.out > mostTimes*f.file.n {
		return 0, fmt.Errorf("%s becomes more than %d times as long as it is: if you trust it, decompress it first",
			f.name, mostTimes)
	}
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}

// NewWriter returns a writer of history lines to a file of that name: compressed,
// if the name says so. Close ends the history; it does not close the file.
func NewWriter(file io.Writer, name string) (io.WriteCloser, error) {
	if !strings.HasSuffix(name, Compressed) {
		return &plainWriter{bufio.NewWriterSize(file, 1<<18)}, nil
	}
	w, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return w, nil
}

// plainWriter gathers what is written to it.
type plainWriter struct{ *bufio.Writer }

func (w *plainWriter) Close() error { return w.Flush() }
