package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MostRecord is how long the record of a run may be (bytes): run.json, gate.json and their like. Ten thousand repetitions fit.
const MostRecord = 32 << 20

// ErrTooLong is the error of a record that is longer than MostRecord.
var ErrTooLong = errors.New("it is too long for the record of a run")

// ReadRecord reads the JSON of a run's record into a value. A file that is too long, or no JSON, is an error that names it.
func ReadRecord(file string, into any) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := Bounded(f, MostRecord)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Bounded reads a regular file to its end. Where it is longer than most (bytes), the error is ErrTooLong.
func Bounded(f fs.File, most int64) ([]byte, error) {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("it is no regular file: %w", fs.ErrNotExist))
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, ErrTooLong
	}
	return text, err
}
