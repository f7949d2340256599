package exhaustive

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/internal/outside"
)

// journalFile is the journal, in its folder.
const journalFile = "complete.jsonl"

// mostJournal bounds what is read of a journal.
const mostJournal = 256 << 20

// journal has a line for each schedule and each batch of pairs that was tried, behind one that
// says of which search they are. Without a folder it keeps nothing.
type journal struct{ file *os.File }

// journalOf is the first line: the number of schedules, and a hash of all that decides them.
type journalOf struct {
	Schedules int    `json:"schedules"`
	Search    string `json:"search"`
}

// identity says which search this is.
func (x *Search) identity() (journalOf, error) {
	var text bytes.Buffer
	fmt.Fprintln(&text, x.Settings.Tool.Version, x.Settings.Tool.Build) // they judge
	if err := x.plan.Write(&text); err != nil {
		return journalOf{}, err
	}
	for _, s := range x.all {
		fmt.Fprintf(&text, "%s %s %+v %d %v\n", s.Host, s.Column, s.Fault, s.Place.At, s.Order)
	}
	return journalOf{len(x.all), fmt.Sprintf("%x", sha256.Sum256(text.Bytes()))}, nil
}

// resume takes over what the journal of an earlier search tells, if that was the same.
func (x *Search) resume() error {
	dir := x.Folder
	if dir == "" {
		return nil
	}
	is, err := x.identity()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the journal: %w", err)
	}
	var kept []byte
	if !x.Fresh {
		if kept, err = outside.Read(dir, journalFile, mostJournal); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the journal: %w", err)
		}
	}
	lines := bytes.Split(kept, []byte("\n"))
	var was journalOf
	if json.Unmarshal(lines[0], &was) == nil && was == is {
		x.recallOutcomes(lines[1:])
	}
	var known []any
	for _, o := range x.outcomes() {
		known = append(known, o)
	}
	for _, d := range x.batchesDone() {
		known = append(known, d)
	}
	return x.log.begin(dir, is, known)
}

// recallOutcomes takes over outcomes. A line that was cut short tells of none.
func (x *Search) recallOutcomes(lines [][]byte) {
	for _, line := range lines {
		var o outcome
		if json.Unmarshal(line, &o) == nil && o.Fate != "" && o.Schedule >= 0 && o.Schedule < len(x.all) {
			x.done[o.Schedule] = o
		}
		if x.Faults > 1 {
			x.recallPair(line)
		}
	}
}

// begin writes the journal anew, with what is known already.
func (j *journal) begin(dir string, is journalOf, known []any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	if err := enc.Encode(is); err != nil {
		return err
	}
	for _, o := range known {
		if err := enc.Encode(o); err != nil {
			return err
		}
	}
	if err := outside.Replace(dir, journalFile, text.Bytes()); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, journalFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	j.file = file
	return nil
}

// add writes the line of a schedule, or of a batch of pairs.
func (j *journal) add(line any) error {
	if j.file == nil {
		return nil
	}
	if err := json.NewEncoder(j.file).Encode(line); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// Close ends the journal.
func (j *journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
