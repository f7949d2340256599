package watch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// FindingsFile has a finding a line, in JSON.
const FindingsFile = "findings.jsonl"

// findings are those that were told, by their IDs.
type findings struct {
	all map[string]bool
	f   *os.File
}

func openFindings(dir string) (*findings, error) {
	f, err := os.OpenFile(filepath.Join(dir, FindingsFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the findings: %w", err)
	}
	known := &findings{all: map[string]bool{}, f: f}
	in, at := bufio.NewReader(f), int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // half a line, of a kill, is written again
			break
		}
		var one Finding
		if err == nil {
			err = json.Unmarshal(line, &one)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read %s at byte %d: %w", f.Name(), at, err), f.Close())
		}
		known.all[one.ID] = true
		at += int64(len(line))
	}
	if err := f.Truncate(at); err != nil {
		return nil, errors.Join(fmt.Errorf("go on with %s: %w", f.Name(), err), f.Close())
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("go on with %s: %w", f.Name(), err), f.Close())
	}
	return known, nil
}

func (k *findings) add(f *Finding) error {
	text, err := json.Marshal(f)
	if err == nil {
		_, err = k.f.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write a finding: %w", err)
	}
	k.all[f.ID] = true
	return nil
}

func (k *findings) close() { _ = k.f.Close() } // each line was written by itself

// unjudgedLines keeps lines that are not judged. Each file is begun anew when it is
// full, and the one before stays, with .old after its name.
type unjudgedLines struct{ dir string }

// mostAside is how many bytes such a file has.
const mostAside = 1 << 20

// add keeps a line, and why it is not judged. What can't be kept is counted all the same.
func (a *unjudgedLines) add(name string, line []byte, why error) {
	file := filepath.Join(a.dir, name)
	if info, err := os.Stat(file); err == nil && info.Size() > mostAside {
		_ = os.Rename(file, file+".old")
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	first, _, _ := bytes.Cut([]byte(why.Error()), []byte("\n"))
	text, err := json.Marshal(map[string]string{"why": string(first), "line": string(line[:min(len(line), 4096)])})
	if err == nil {
		_, _ = f.Write(append(text, '\n'))
	}
}
