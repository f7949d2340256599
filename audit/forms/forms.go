// Package forms reads the forms that files of logs and histories have: bytes to records. It tells them apart (Detect) and reads them (File.Read), each with its place in
// the file. There are three kinds:
//
//   - Logs in rows, such as CSV: rows finds the records, and a worker of package words makes events of them. Blocks of the log are understood side by side.
//   - Records that are no rows, such as spans or samples of who holds a lock: a recordReader tells a worker what they say.
//   - Histories of whole calls, such as Jepsen's: their reader makes Calls.
//
// A new form is one file, with its Format and its reader, and one line in all.
package forms

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/lockchaos/lockchaos/audit/remarks"
	"github.com/lockchaos/lockchaos/audit/words"
)

// Format is the name of a form of files.
type Format string

// The formats that are not read here: Native is lockchaos' own, which package history reads.
const (
	Auto   Format = "auto"
	Native Format = "lockchaos"
)

// Formats lists the formats by name.
var Formats = func() []Format {
	list := []Format{Auto, Native}
	for i := range all {
		list = append(list, all[i].format)
	}
	return list
}()

// all are the forms. Each has a file of its own, and a line here.
var all = []form{
	{Jepsen, nil, readJepsen},
	{Porcupine, nil, readPorcupine},
	{CSV, nil, inRows(openCSV)},
	{JSON, nil, unprefixedRows},
	{Text, nil, inRows(openText)},
	{Spans, spansBegin.Match, inRecords(openSpans)},
	{Leases, leasesBegin, inRecords(openLeases)},
	{Etcd, etcdBegins.Match, inRecords(openEtcd)},
	{LockTable, lockTableBegins.Match, inRecords(openLockTable)},
}

// form is a form of files.
type form struct {
	format Format
	// begins reports whether the first bytes of a file are certainly those of one; nil: they tell too little (Detect).
	begins func(text []byte) bool
	read   func(*File, *bufio.Reader) error
}

// Options says how a file is to be read.
type Options struct {
	words.Options
	// Pattern is a regular expression for lines of text. SkipUnmatched leaves out lines that it does not match.
	Pattern       string
	SkipUnmatched bool
	// Span is the name of the spans of a trace that are holds of a lock.
	Span string
	// Polled: samples of who holds a lock were taken now and then, and are not all changes.
	Polled bool
	// Block is how many bytes are understood at a time; 0: as many as usual.
	Block int
}

// File is a file that is read, and what its reader says of it.
type File struct {
	remarks.Remarks
	Name    string
	Options Options

	// Lines is what understands its rows, and Columns their columns, once they are found; nil: it has none.
	Lines   *words.Reader
	Columns *words.Columns
	// Keys and Owners are the names that it has.
	Keys, Owners words.Names
	// Take is told what is said piece by piece, in the order of the file. Calls takes the calls of a history.
	Take  func(*words.Said) error
	Calls Calls

	What     string // its form, in words
	Loss     string // what the end of a hold is that its owner did not ask for; empty: news
	OneClock bool   // the stamps are the recorder's, not the clients'
	Untimed  bool   // it has no times, only an order
	Released bool   // a grant is good until it is released
}

// Read reads a file of a format other than Native and Auto. Errors in it are a *history.SyntaxError.
func (f *File) Read(in io.Reader, format Format) error {
	i := slices.IndexFunc(all, func(one form) bool { return one.format == format })
	if i < 0 {
		return fmt.Errorf("format %q is not a foreign one", format)
	}
	buffered := bufio.NewReaderSize(Decoded(in), 1<<16)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" { // what spreadsheets begin a file with
		_, _ = buffered.Discard(len(mark))
	}
	return all[i].read(f, buffered)
}

// understand makes what understands the rows of the file.
func (f *File) understand() error {
	lines, err := words.NewReader(f.Options.Options)
	f.Lines = &lines
	return err
}

// cutShort notes that a file ends within a record: what it had to say is not known.
func (f *File) cutShort(line int) {
	f.Doubt(remarks.Tally{N: 1, First: int32(line)}, "the file ends within this record.")
}
