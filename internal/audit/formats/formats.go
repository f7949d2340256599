// Package formats reads the forms that files of logs and histories have: bytes to
// records. It tells them apart (Detect) and reads them (File.Read), each with
// its place in the file. There are three kinds:
//
//   - Logs in rows, such as CSV: rows finds the records, and a worker of package
//     words makes events of them. Blocks of the log are understood side by side.
//   - Records that are no rows, such as spans or samples of who holds a lock: a
//     recordReader tells a worker what they say.
//   - Histories of whole calls, such as Jepsen's: their reader makes Calls.
//
// A new form is one file, with its Format and its reader, and one line in all.
package formats

import (
	"bufio"
	"fmt"
	"io"
	"slices"
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
var all = []knownFormat{
	{Jepsen, jepsenText, readJepsen},
	{Porcupine, nil, readPorcupine},
	{CSV, nil, inRows(openCSV)},
	{JSON, nil, unprefixedRows},
	{Text, nil, inRows(openText)},
	{Spans, spansBegin().Match, inRecords(openSpans)},
	{Leases, leasesBegin, inRecords(openLeases)},
	{Etcd, etcdBegins().Match, inRecords(openEtcd)},
	{LockTable, lockTableBegins().Match, inRecords(openLockTable)},
	{Consul, consulBegins().Match, inRecords(openConsul)},
	{Monitor, monitorBegins().Match, inRecords(openMonitor)},
}

// knownFormat is a form of files.
type knownFormat struct {
	format Format
	// begins reports whether the first bytes of a file are certainly those of
	// one; nil: they tell too little (Detect).
	begins func(text []byte) bool
	read   func(*File, *bufio.Reader) error
}

// Read reads a file of a format other than Native and Auto. Errors in it are a
// *history.SyntaxError.
func (f *File) Read(in io.Reader, format Format) error {
	i := slices.IndexFunc(all, func(one knownFormat) bool { return one.format == format })
	if i < 0 {
		return fmt.Errorf("format %q is not a foreign one", format)
	}
	buffered := bufio.NewReaderSize(Decoded(in), 1<<16)
	// what spreadsheets begin a file with
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = buffered.Discard(len(mark))
	}
	return all[i].read(f, buffered)
}
