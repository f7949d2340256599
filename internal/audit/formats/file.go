package formats

import (
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// Format is the name of a form of files.
type Format string

// The formats that are not read here: Native is lockchaos' own, which package history reads.
const (
	Auto   Format = "auto"
	Native Format = "lockchaos"
)

// Options says how a file is to be read.
type Options struct {
	words.Options
	// Pattern is a regular expression for lines of text. SkipUnmatched leaves
	// out lines that it does not match.
	Pattern       string
	SkipUnmatched bool
	// Span is the name of the spans of a trace that are holds of a lock.
	Span string
	// Polled: samples of who holds a lock were taken now and then, and are not all changes.
	Polled bool
	// Named: a line that is not among these names a lock.
	Named bool
	// Block is how many bytes are understood at a time; 0: as many as usual.
	Block int
}

// File is a file that is read, and what its reader says of it.
type File struct {
	remarks.Remarks
	Name    string
	Options Options

	// Lines is what understands its rows, and Columns their columns, once they
	// are found; nil: it has none.
	Lines   *words.Reader
	Columns *words.Columns
	// Keys and Owners are the names that it has.
	Keys, Owners words.Names
	// Take is told what is said piece by piece, in the order of the file. Calls
	// takes the calls of a history.
	Take  func(*words.BlockResult) error
	Calls Calls

	// Missing is how many lines are left out that seem to tell of a lock, and
	// Gaps the first of them.
	Missing int
	Gaps    []int32

	What     string // its form, in words
	Loss     string // what the end of a hold is that its owner did not ask for; empty: news
	OneClock bool   // the stamps are the recorder's, not the clients'
	Untimed  bool   // it has no times, only an order
	Released bool   // a grant is good until it is released
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
